package lab

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"postage/internal/sys/machine"
	"postage/internal/sys/proc"
	"postage/internal/verdict"
	"postage/record"
)

// oldSuites are what an older revision of the test program has: it was slower in one
// contender and did not have another.
func oldSuites() []Suite {
	return []Suite{{Stage: "test", Cases: []Case{
		{Name: "Test/op=plain", Doc: "?", Baseline: "is=base", Contenders: []Contender{
			contender("is=base", sound),
			contender("is=eightfold", func() *work {
				return &work{run: func(n int) error { spin(64 * n); return nil }}
			}),
		}},
	}}}
}

func oldRevision(t *testing.T) *Build {
	t.Helper()
	command, err := proc.Self("worker", "old")
	if err != nil {
		t.Fatal(err)
	}
	return &Build{Name: "abc1234", Commit: "abc1234567", Commands: [][]string{command, command}, Modules: map[string]string{}}
}

// nowBuild is the test program itself, in as many layouts.
func nowBuild(t *testing.T) *Build {
	t.Helper()
	command, err := proc.Self("worker")
	if err != nil {
		t.Fatal(err)
	}
	return &Build{Commands: [][]string{command, command}, Modules: Modules()}
}

// Each layout comes once before any comes again, in an order of the seed's and the case's.
func TestLayout(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		order := ""
		for cycle := range 3 {
			seen := map[int]bool{}
			for i := range 4 {
				l := layout(seed, "Test/op=plain", 4*cycle+i+1, 4)
				seen[l] = true
				order += strconv.Itoa(l)
			}
			if len(seen) != 4 {
				t.Errorf("seed %d: %s", seed, order)
			}
		}
		orders[order] = true
	}
	if len(orders) < 15 || layout(7, "a", 5, 1) != 1 {
		t.Errorf("%d orders of 20 seeds", len(orders))
	}
}

// A run against an older revision compares each row with its old self, in the same
// rounds and with the same n; what the old one does not have is said, not failed.
func TestAgainst(t *testing.T) {
	old := oldRevision(t)
	entries, err := Select(testSuites(), []string{"op=plain"})
	if err != nil {
		t.Fatal(err)
	}
	now := nowBuild(t)
	plan := Plan{Entries: Against(entries, old, now)}
	rec := NewRecord(plan, record.Run{Seed: 7, Precision: 0.5, Budget: 3 * time.Minute, GOMAXPROCS: 1}, machine.Read(0))
	if err := testConductor(t).Run(context.Background(), plan.Entries, rec); err != nil {
		t.Fatal(err)
	}
	layouts := map[int]int{}
	for i := range rec.Blocks {
		layouts[rec.Blocks[i].Layout]++
	}
	if len(layouts) != 2 || layouts[1] < 3 || layouts[2] < 3 || rec.Run.Layouts != 2 {
		t.Errorf("blocks by layout %v, run's %d", layouts, rec.Run.Layouts)
	}
	base, oldBase := rec.Row("Test/op=plain/is=base"), rec.Row("Test/op=plain/is=base/rev=abc1234")
	if base.N != oldBase.N || oldBase.Revision != old.Commit || oldBase.OldOf != base.Name || oldBase.Role != "contender" {
		t.Errorf("new n %d; old: %+v", base.N, oldBase)
	}
	gone := rec.Row("Test/op=plain/is=counted/rev=abc1234")
	if want := record.ProofNotPossible + "the old side, abc1234, has no such row"; gone.Proof != want {
		t.Errorf("proof %q, want %q", gone.Proof, want)
	}
	c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	if len(c.Rows) != 2 || len(c.Unmatched) != 1 || !strings.Contains(c.Unmatched[0].Reason, "no such row") {
		t.Fatalf("%d rows, unmatched %v", len(c.Rows), c.Unmatched)
	}
	for _, r := range c.Rows {
		// No time is asserted, only that an eighth of the work is not taken for the same. Two
		// layouts of three blocks on a busy machine leave an interval that has any value.
		if r.New.Row.Contender == "is=eightfold" && (r.Ratio.Value > 0.5 || r.Time == verdict.Regressed) {
			t.Errorf("an eighth of the work came out as %+v, %s", r.Ratio, r.Time)
		}
	}
	// Resumed, the old rows want their revision.
	rec.Run.Complete = false
	if _, err := Resume(rec, Entries(testSuites()), rec.Machine, time.Minute); err == nil {
		t.Error("resumed without the old revision")
	}
	other := &Build{Commands: [][]string{{"/dev/null"}}, Modules: now.Modules}
	if _, err := Resume(rec, Against(Entries(testSuites()), old, other), rec.Machine, time.Minute); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("resumed with another build: %v", err)
	}
	resumed, err := Resume(rec, Against(Entries(testSuites()), old, now), rec.Machine, time.Minute)
	if err != nil || len(resumed) != len(plan.Entries) {
		t.Errorf("resumed %d of %d rows: %v", len(resumed), len(plan.Entries), err)
	}
}

// What a side is run with takes the place of what the world states.
func TestSideEnvironment(t *testing.T) {
	t.Setenv("GODEBUG", "x=1")
	r := &run{conductor: &Conductor{}, rec: &record.Record{Run: record.Run{GOMAXPROCS: 2, World: &record.World{Procs: 1, GOGC: 100}}}}
	for want, of := range map[string]*Build{
		"GOMAXPROCS=1 GODEBUG=x=1,madvdontneed=0 GOGC=off POSTAGE_GOGC=100":               nil,
		"GOMAXPROCS=1 GODEBUG=x=1,madvdontneed=0 GOGC=100":                                {},
		"GOMAXPROCS=1 GODEBUG=x=1,madvdontneed=0 GOGC=100 GOGC=400 GOMAXPROCS=4":          {Environment: []string{"GOGC=400", "GOMAXPROCS=4"}},
		"GOMAXPROCS=1 GODEBUG=x=1,madvdontneed=0 GOGC=100 GODEBUG=x=1,madvdontneed=0,y=1": {Environment: []string{"GODEBUG=y=1"}},
	} {
		e := Entry{Case: &Case{}, Build: of}
		if got := strings.Join(r.environment(&e), " "); got != want {
			t.Errorf("%s, want %s: the last one counts", got, want)
		}
	}
}
