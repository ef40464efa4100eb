package lab

import (
	"context"
	"strings"
	"testing"
	"time"

	"postage/proc"
	"postage/record"
	"postage/verdict"
)

// oldSuites are those of an older revision of the test program: it was slower in one
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

func oldRevision(t *testing.T) *Revision {
	t.Helper()
	command, err := proc.Self("worker", "old")
	if err != nil {
		t.Fatal(err)
	}
	return &Revision{Name: "abc1234", Commit: "abc1234567", Command: command, Modules: map[string]string{}}
}

// A run against an older revision compares each row with its old self, in the same
// rounds and with the same n; what the old one does not have is said, not failed.
func TestAgainst(t *testing.T) {
	old := oldRevision(t)
	entries, err := Select(testSuites(), []string{"op=plain"})
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Entries: Against(entries, old), Rounds: 3}
	rec := NewRecord(plan, record.Run{Seed: 7, Precision: 0.5, Budget: time.Minute, GOMAXPROCS: 1}, record.ThisMachine(0))
	if err := testConductor(t).Run(context.Background(), plan.Entries, rec); err != nil {
		t.Fatal(err)
	}
	base, oldBase := rec.Row("Test/op=plain/is=base"), rec.Row("Test/op=plain/is=base/rev=abc1234")
	if base.N != oldBase.N || oldBase.Revision != old.Commit || oldBase.OldOf != base.Name || oldBase.Role != "contender" {
		t.Errorf("new n %d; old: %+v", base.N, oldBase)
	}
	gone := rec.Row("Test/op=plain/is=counted/rev=abc1234")
	if want := record.ProofNotPossible + "revision abc1234 has no such row"; gone.Proof != want {
		t.Errorf("proof %q, want %q", gone.Proof, want)
	}
	c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	if len(c.Rows) != 2 || len(c.Unmatched) != 1 || !strings.Contains(c.Unmatched[0].Reason, "no such row") {
		t.Fatalf("%d rows, unmatched %v", len(c.Rows), c.Unmatched)
	}
	for _, r := range c.Rows {
		// No time is asserted, only that an eighth of the work is not taken for the same.
		if r.New.Row.Contender == "is=eightfold" && (r.Ratio.High > 0.9 || r.Time != verdict.Passed) {
			t.Errorf("an eighth of the work came out as %+v, %s", r.Ratio, r.Time)
		}
	}
	// Six blocks and two rows: the least p-value is 2 * 2/64.
	six := *rec
	six.Blocks = rec.Blocks[:6]
	c = verdict.ComparePaired(&six, verdict.DefaultThresholds())
	if !strings.Contains(strings.Join(c.Warnings, " "), "that takes 7 blocks") {
		t.Errorf("warnings %q", c.Warnings)
	}
	// Resumed, the old rows want their revision.
	rec.Run.Complete = false
	if _, err := Resume(rec, testSuites(), nil, rec.Machine, time.Minute); err == nil {
		t.Error("resumed without the old revision")
	}
	resumed, err := Resume(rec, testSuites(), old, rec.Machine, time.Minute)
	if err != nil || len(resumed) != len(plan.Entries) {
		t.Errorf("resumed %d of %d rows: %v", len(resumed), len(plan.Entries), err)
	}
}
