package lab

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postage/internal/stats"
	"postage/internal/sys/machine"
	"postage/internal/verdict"
	"postage/record"
)

// paced is a program that takes set times, by a clock that only the test moves: however busy the
// machine is, blocks take as long.
type paced struct {
	open, batches time.Duration // the latter until it is warmed up
	perOp         float64       // in ns
}

func (p *paced) Open(context.Context) error                     { time.Sleep(p.open); return nil }
func (p *paced) Close(context.Context) (told []string, _ error) { return nil, nil }
func (p *paced) Kill()                                          {}
func (p *paced) Collect(context.Context, float64) error         { p.batches = 0; return nil }
func (p *paced) Batch(_ context.Context, n int) (*Batch, error) {
	took := time.Duration(float64(n) * p.perOp)
	time.Sleep(took + p.batches)
	return &Batch{WallNS: took.Nanoseconds(), CPUNS: -1}, nil
}

// thought is how long a block of pacedRun is thought to take.
var thought = estimated(8, 0, DefaultRounds)

// pacedRun measures a case of a baseline, its control, four contenders and two floors, whose
// processes start is asked for, by number from 0. It returns the record and what the user was told.
func pacedRun(t *testing.T, budget time.Duration, start func(process int) paced) (rec *record.Record, told []string) {
	c := Case{Name: "Test/op=paced", Value: record.ValueWall, Baseline: "is=base"}
	random, process := rand.New(rand.NewPCG(1, 2)), 0
	for _, name := range []string{"is=base", "is=1", "is=2", "is=3", "is=4", "floor=1", "floor=2"} {
		c.Contenders = append(c.Contenders, Contender{Name: name, Floor: strings.HasPrefix(name, "floor"), Checks: "nothing",
			Start: func(context.Context, int) (Runner, error) {
				p := start(process)
				process++
				p.perOp *= 1 + 0.02*random.NormFloat64() // as processes differ
				return &p, nil
			}})
	}
	entries := Entries([]Suite{{Stage: "test", Cases: []Case{c}}})
	rec = NewRecord(Plan{Entries: entries}, record.Run{Seed: 7, Precision: 1e-9, Budget: budget, GOMAXPROCS: 1}, machine.Read(0))
	synctest.Test(t, func(t *testing.T) {
		conductor := &Conductor{SetUpPatience: time.Hour, Observe: func(s Status) {
			if s.Note != "" {
				told = append(told, s.Note)
			}
		}}
		if err := conductor.Run(t.Context(), entries, rec); err != nil {
			t.Fatal(err)
		}
	})
	return rec, told
}

// A case whose rows take too long for the budget loses some, floors first and then contenders, as
// the user is told. The others have an interval.
func TestRowsThereIsNoTimeFor(t *testing.T) {
	// Four blocks of eight rows, whose batches take seven times as long as asked, take longer.
	rec, told := pacedRun(t, 9*thought, func(int) paced { return paced{open: 100 * time.Millisecond, perOp: float64(7 * batchTarget)} })
	var lost []string
	for _, r := range verdict.Analyze(rec).Cases[0].Rows {
		switch {
		case !r.Row.OK():
			lost = append(lost, r.Row.Contender)
			if !strings.HasPrefix(string(r.Row.Proof), "not measured: there was no time for it") || r.NSOp != nil {
				t.Errorf("%s: proof %q, figure %v", r.Row.Contender, r.Row.Proof, r.NSOp)
			}
			if !slices.ContainsFunc(told, func(note string) bool { return strings.Contains(note, r.Row.Name) }) {
				t.Errorf("%s is left out, and the user is told %q", r.Row.Contender, told)
			}
		case r.NSOp == nil || r.Blocks < stats.MinBlocks:
			t.Errorf("%s: figure %v, %d blocks", r.Row.Contender, r.NSOp, r.Blocks)
		}
	}
	floors := 0
	for _, name := range lost {
		if strings.HasPrefix(name, "floor") {
			floors++
		}
	}
	if len(lost) == 0 || floors < min(2, len(lost)) || len(told) != len(lost) || slices.Contains(lost, "is=base") {
		t.Errorf("rows %q are left out; told %q", lost, told)
	}
}

// A last block that takes longer than was left takes no figures away.
func TestOverrunLosesNoRows(t *testing.T) {
	const hang = 5 * 8 // the first process of the sixth block
	rec, told := pacedRun(t, 12*thought, func(process int) paced {
		if process == hang {
			return paced{open: 12 * thought, perOp: 4e6}
		}
		return paced{open: 100 * time.Millisecond, perOp: 4e6}
	})
	if rec.Run.Elapsed < rec.Run.Budget || len(rec.Blocks) != 6 {
		t.Fatalf("%d blocks in %v: the test has no overrun", len(rec.Blocks), rec.Run.Elapsed)
	}
	for i := range rec.Rows {
		if row := &rec.Rows[i]; !row.OK() {
			t.Errorf("%s: %s", row.Name, row.Proof)
		}
	}
	if len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

// Of two sides that take turns neither is left without the other, which would have nothing to be
// compared with.
func TestSidesAreLostTogether(t *testing.T) {
	r, cs := cased(3)
	cs.entries = Against(cs.entries, &Build{Name: "old"}, &Build{})
	r.rec.Rows = nil
	for i := range cs.entries {
		r.rec.Rows = append(r.rec.Rows, newRow(&cs.entries[i], record.ProofOK, nil))
	}
	cs.turns = *measuredCase(len(cs.entries), 0, time.Second, 0)
	r.end = time.Now().Add(30 * time.Second) // four blocks of all ten rows take 40 s
	r.shed([]*turns{&cs.turns}, map[*turns]*runCase{&cs.turns: cs})
	for _, e := range cs.entries {
		if now := r.rec.Row(e.asked()); e.Old && r.rec.Row(e.Row()).OK() != now.OK() {
			t.Errorf("%s is %q, and %s is %q", e.Row(), r.rec.Row(e.Row()).Proof, now.Name, now.Proof)
		}
	}
	if live := r.live(cs); len(live) > 7 || len(live) < fewestRows {
		t.Errorf("%d of %d rows remain", len(live), len(cs.entries))
	}
}

func roundsOfBlocks(rec *record.Record) (rounds []int) {
	for i := range rec.Blocks {
		rounds = append(rounds, len(rec.Blocks[i].Series[0].WallNS))
	}
	return rounds
}

// Where the first block takes longer than the others, the second has fewer rounds, and the third
// has them again.
func TestRoundsComeBack(t *testing.T) {
	// With rounds of 0.8 s, seven blocks like the first would take 121 s, and like the others 93 s.
	rec, _ := pacedRun(t, 121*time.Second, func(process int) paced {
		if process == 0 {
			return paced{open: 4 * time.Second, perOp: 100e6}
		}
		return paced{open: 60 * time.Millisecond, perOp: 100e6}
	})
	rounds := roundsOfBlocks(rec)
	if n := len(rounds); n < goals[0].blocks || rounds[1] >= DefaultRounds || rounds[2] != DefaultRounds {
		t.Errorf("rounds a block: %v", rounds)
	}
}

// What only the first block does, which finds the operations of a batch, is not expected of the
// others: they keep their rounds.
func TestCalibratingIsNotExpectedAgain(t *testing.T) {
	process := 0
	rec, _ := pacedRun(t, 27*thought, func(int) paced {
		p := paced{open: 60 * time.Millisecond, perOp: 4e6}
		if process++; process <= 8 {
			p.batches = 200 * time.Millisecond
		}
		return p
	})
	rounds := roundsOfBlocks(rec)
	if len(rounds) < goals[0].blocks || slices.Min(rounds[1:goals[0].blocks]) < DefaultRounds {
		t.Errorf("rounds a block: %v", rounds)
	}
}

// The contender that is lost first is the dearest so far: the advice names the cheapest.
func TestTheDearestIsLost(t *testing.T) {
	r, cs := cased(4)
	block := record.Block{Case: cs.name, Number: 1}
	for i, e := range cs.entries {
		row := r.rec.Row(e.Row())
		row.N = 1
		ns := int64(1000 * (1 + (i+2)%4))
		block.Series = append(block.Series, record.Series{Row: e.Row(), Position: []int{0}, WallNS: []int64{ns}, CPUNS: []int64{ns}, Allocs: []int64{0}, Bytes: []int64{0}})
	}
	r.rec.Blocks = append(r.rec.Blocks, block)
	seen := verdict.AnalyzeCase(r.rec, cs.name)
	dearest := ""
	for _, result := range seen.Rows { // the cheapest first
		if result.Row.Role == record.RoleContender {
			dearest = result.Row.Name
		}
	}
	if away := leastMissed(cs.entries, seen); away == nil || away.Role != record.RoleFloor {
		t.Errorf("%v is lost, want the floor", away)
	}
	live := slices.DeleteFunc(slices.Clone(cs.entries), func(e Entry) bool { return e.Role == record.RoleFloor })
	if away := leastMissed(live, seen); away == nil || away.Row() != dearest {
		t.Errorf("%v is lost, want %s", away, dearest)
	}
	// All others depart from a standard: then the dearest is the best bet.
	for i := range r.rec.Rows {
		if row := &r.rec.Rows[i]; row.Role == record.RoleContender && row.Name != dearest {
			row.Properties = map[string]string{record.Departs: "a standard"}
		}
	}
	r.rec.Row(cs.entries[0].Row()).Properties = map[string]string{record.Departs: "a standard"}
	if away := leastMissed(live, verdict.AnalyzeCase(r.rec, cs.name)); away == nil || away.Row() == dearest {
		t.Errorf("%v is lost, the best bet", away)
	}
}

// Where the old side of a benchmark is 30 times slower, both have fewer operations a batch: a short
// run has blocks enough to tell.
func TestBatchesOfASlowOldSide(t *testing.T) {
	c := Case{Name: "Test/op=paced", Value: record.ValueWall, Baseline: "is=base"}
	entry := func(role record.Role, old bool, perOp float64) Entry {
		e := Entry{Stage: "test", Case: &c, Role: role, Old: old, Contender: Contender{Name: "is=base", Checks: "nothing", Start: func(context.Context, int) (Runner, error) {
			return &paced{open: 60 * time.Millisecond, perOp: perOp}, nil
		}}}
		if role == record.RoleControl {
			e.Contender.Name = "is=control"
		}
		if old {
			e.Build = &Build{Name: "old"}
		}
		return e
	}
	entries := []Entry{entry(record.RoleBaseline, false, 1000), entry(record.RoleControl, false, 1000), entry(record.RoleContender, true, 30_000)}
	rec := NewRecord(Plan{Entries: entries}, record.Run{Seed: 7, Precision: 1e-9, Budget: 10 * time.Second, GOMAXPROCS: 1}, machine.Read(0))
	synctest.Test(t, func(t *testing.T) {
		if err := (&Conductor{SetUpPatience: time.Hour}).Run(t.Context(), entries, rec); err != nil {
			t.Fatal(err)
		}
	})
	first := rec.Blocks[0].Series
	if now, old := first[0].WallNS[0], first[2].WallNS[0]; old > 4*batchTarget.Nanoseconds() || now < batchTarget.Nanoseconds()/16 || rec.Rows[0].N != rec.Rows[2].N || rec.Rows[0].N != rec.Rows[1].N {
		t.Errorf("batches of %d and %d ns, of %d, %d and %d operations", now, old, rec.Rows[0].N, rec.Rows[1].N, rec.Rows[2].N)
	}
}
