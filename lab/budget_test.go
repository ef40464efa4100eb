package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postage/record"
)

// told runs what a plan has and returns its record and what the user was told.
func told(t *testing.T, plan Plan, budget time.Duration, precision float64) (*record.Record, string) {
	t.Helper()
	rec := NewRecord(plan, record.Run{Seed: 7, Precision: precision, Budget: budget, GOMAXPROCS: 1}, record.ThisMachine(0))
	var notes strings.Builder
	c := testConductor(t)
	c.Observe = func(s Status) { notes.WriteString(s.Note + "\n") }
	if err := c.Run(context.Background(), plan.All(), rec); err != nil {
		t.Fatal(err)
	}
	return rec, notes.String()
}

// What an estimate left out is come back to when time remains, and what is expected is said
// once the first look is done.
func TestComesBackToWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	entries, _ := prepared(t, 0, "op=plain", "op=baseless")
	cases := byCase(entries)
	rec, notes := told(t, Plan{Entries: cases[1], Left: cases[0], Rounds: 3}, time.Minute, 0.5)
	left := cases[0][0].Case.Name
	if !strings.Contains(notes, "time remains for "+left) || rec.Row(cases[0][0].Row()).Proof.Is(record.ProofNotMeasured) {
		t.Errorf("%s: %q; told: %s", left, rec.Row(cases[0][0].Row()).Proof, notes)
	}
	if !rec.Run.Complete || rec.Run.Self == nil || rec.Run.Self.Spent["rounds"] <= 0 {
		t.Errorf("%+v", rec.Run.Self)
	}
}

// Where blocks take longer than the budget allows, cases from the end on wait, and that is said
// before it is used up.
func TestWhatCannotBeHelpedIsTold(t *testing.T) {
	t.Parallel()
	entries, _ := prepared(t, 0, "op=plain", "op=slow")
	var notes string
	// On a busy machine nothing may be seen in so little time.
	for budget := 4 * time.Second; budget <= time.Minute; budget *= 2 {
		if _, notes = told(t, Plan{Entries: entries, Rounds: 3}, budget, 0.001); strings.Contains(notes, "no interval, unless time remains, for Test/op=slow") {
			return
		}
	}
	t.Errorf("told: %s", notes)
}

// What is foretold is by what was seen: a case that spreads more is expected to be less precise,
// and more budget is asked for than there is, where it helps.
func TestForetell(t *testing.T) {
	var note string
	r := &run{Conductor: &Conductor{Observe: func(s Status) { note = s.Note }}, deadline: time.Now().Add(time.Minute),
		rec: &record.Record{Run: record.Run{Rounds: 10, Precision: 0.01, Budget: 2 * time.Minute}}}
	seen := func(name string, half float64) *runCase {
		return &runCase{name: name, rounds: 10, blocks: looks[0], looked: looks[0], halfWidth: half, round: []time.Duration{100 * time.Millisecond}, fixed: []time.Duration{0}}
	}
	r.cases = []*runCase{seen("wide", 0.30), seen("narrow", 0.012), seen("fair", 0.03)}
	r.foretell()
	for _, want := range []string{"expect ±", "(narrow) to ±", "(wide)", "give --budget", "too noisy for that with 56 blocks too: wide (±"} {
		if !strings.Contains(note, want) {
			t.Errorf("%q lacks %q", note, want)
		}
	}
	if r.cases[0].blocks != looks[0] || r.cases[0].done {
		t.Errorf("foretelling changed the case: %+v", r.cases[0])
	}
	// Student's t for 6, 10 and 56 blocks.
	for n, x := range map[int]float64{6: 2.571, 10: 2.262, 56: 2.004} {
		if got := width(n) * math.Sqrt(float64(n)); math.Abs(got/x-1) > 0.02 {
			t.Errorf("%d blocks: %.3f, t is %.3f", n, got, x)
		}
	}
}

// Where blocks take many times what was estimated, that is seen after the first two of them, and
// not when each case had one and the budget is used up. One that is slow may be slow by itself.
func TestSlownessIsSeenAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name      string
		slow      int // how many times the estimate the first blocks took
		measured  int
		waiting   int
		fewRounds bool
	}{{"as estimated", 1, 2, 0, false}, {"somewhat slower", 2, 2, 0, false}, {"very slow", 12, 2, 5, true}, {"one slow case", 12, 1, 0, false}} {
		r := &run{Conductor: &Conductor{}, rec: &record.Record{Run: record.Run{Rounds: 17}}}
		for i := range 6 {
			cs := &runCase{name: fmt.Sprint(i), rounds: 17, halfWidth: math.Inf(1)}
			for range 8 {
				cs.entries = append(cs.entries, Entry{Case: &Case{Name: cs.name}})
			}
			r.cases = append(r.cases, cs)
		}
		whole := estimated(r.cases[0].entries, 17)
		for _, first := range r.cases[:tt.measured] {
			first.blocks, first.round = 1, []time.Duration{time.Duration(tt.slow) * (whole - estimated(first.entries, 0)) / 17}
			first.fixed = []time.Duration{time.Duration(tt.slow) * estimated(first.entries, 0)}
		}
		r.deadline = time.Now().Add(90*time.Second - time.Duration(tt.measured*tt.slow)*whole)
		r.foresee()
		r.fit()
		waiting := 0
		for _, cs := range r.cases {
			if cs.waits {
				waiting++
			}
		}
		if waiting != tt.waiting || (r.cases[1].rounds < 17) != tt.fewRounds {
			t.Errorf("%s: %d of 6 cases wait, %d rounds", tt.name, waiting, r.cases[1].rounds)
		}
	}
}

// A case that waits has its one block when the others have had their first look, even if there is
// no time for an interval: figures without one are better than none. Its server must have been
// started, which it is if the case was to be measured from the beginning.
func TestOneBlockIsBetterThanNone(t *testing.T) {
	service := new(Service)
	for _, tt := range []struct {
		name             string
		fromTheBeginning bool
		left             time.Duration
		waits            bool
	}{{"time for one", true, 3 * time.Second, false}, {"time for none", true, 100 * time.Millisecond, true}, {"no server", false, 3 * time.Second, true}} {
		seen := &runCase{name: "seen", rounds: 10, blocks: looks[0], halfWidth: 1, round: []time.Duration{time.Millisecond}, fixed: []time.Duration{0}, entries: []Entry{{Case: new(Case)}}}
		served := &runCase{name: "served", rounds: 10, halfWidth: math.Inf(1), entries: make([]Entry, 8), waits: !tt.fromTheBeginning}
		for i := range served.entries {
			served.entries[i] = Entry{Case: &Case{Name: "Test/served", Service: service}, Contender: Contender{Name: fmt.Sprint("n=", i)}}
		}
		rec := NewRecord(Plan{Entries: served.entries, Rounds: 10}, record.Run{}, record.ThisMachine(0))
		r := &run{Conductor: &Conductor{}, rec: rec, foretold: true, all: []*runCase{seen, served}, deadline: time.Now().Add(tt.left)}
		r.cases = r.all
		r.noteServers()
		served.waits = true
		r.fit()
		if served.waits != tt.waits {
			t.Errorf("%s: waits %t", tt.name, served.waits)
		}
	}
}

// A case that waits comes back if there is time for its first look with fewer rounds, which the
// other cases would have made use of: an interval of each is worth more than narrower ones of some.
func TestFewerRoundsBeforeFewerCases(t *testing.T) {
	seen := &runCase{name: "seen", rounds: 13, blocks: 2, halfWidth: math.Inf(1), round: []time.Duration{200 * time.Millisecond}, fixed: []time.Duration{time.Second}, entries: []Entry{{Case: new(Case)}}}
	left := &runCase{name: "left", rounds: 15, halfWidth: math.Inf(1), waits: true, served: true, entries: make([]Entry, 8)}
	for i := range left.entries {
		left.entries[i] = Entry{Case: &Case{Name: "Test/left"}, Contender: Contender{Name: fmt.Sprint("n=", i)}}
	}
	r := &run{Conductor: &Conductor{}, rec: NewRecord(Plan{Entries: left.entries}, record.Run{}, record.ThisMachine(0)), cases: []*runCase{seen, left}}
	for _, tt := range []struct {
		remains time.Duration
		waits   bool
	}{{10 * time.Second, true}, {20 * time.Second, false}} {
		left.waits, r.deadline = true, time.Now().Add(tt.remains)
		if r.fit(); left.waits != tt.waits {
			t.Errorf("%v remain: waits %t", tt.remains, left.waits)
		}
	}
}

// If not all cases can have the blocks of a first look, those wait that take longest: one whose
// batches waited for the network had left no time for five others in 90 s.
func TestLongestCasesWait(t *testing.T) {
	r := &run{Conductor: &Conductor{}, deadline: time.Now().Add(30 * time.Second)}
	for _, fixed := range []time.Duration{10 * time.Second, time.Second, time.Second} {
		r.cases = append(r.cases, &runCase{rounds: 8, blocks: 1, halfWidth: math.Inf(1), round: []time.Duration{100 * time.Millisecond}, fixed: []time.Duration{fixed}})
	}
	if r.fit(); !r.cases[0].waits || r.cases[1].waits || r.cases[2].waits {
		t.Errorf("waits: %t, %t, %t; want the first, which takes longest", r.cases[0].waits, r.cases[1].waits, r.cases[2].waits)
	}
}

// A block of a first look that would take longer than what is left gets fewer rounds: in 300 s a
// case was left without an interval, for 31 s that one block took.
func TestLastBlockOfALookFits(t *testing.T) {
	cs := &runCase{rounds: 16, blocks: 5, halfWidth: math.Inf(1), round: []time.Duration{time.Second}, fixed: []time.Duration{10 * time.Second}}
	if best([]*runCase{cs}, 20*time.Second) != cs || cs.rounds != 10 {
		t.Errorf("a block of %d rounds, want 10", cs.rounds)
	}
	cs.blocks, cs.rounds = 6, 16
	if best([]*runCase{cs}, 20*time.Second) != nil || cs.rounds != 16 {
		t.Errorf("a block after the first look, of %d rounds", cs.rounds)
	}
	cs.blocks = 5
	if best([]*runCase{cs}, 12*time.Second) != nil || cs.rounds != 16 {
		t.Errorf("a block that cannot fit into what is left, now of %d rounds", cs.rounds)
	}
}

// Between two looks as well the next block goes where it narrows most per second: to each of the
// cases of a first look, whose spread and blocks differ as theirs do.
func TestNextBlockNarrowsMostPerSecond(t *testing.T) {
	var cases []*runCase
	spread := map[*runCase]float64{}
	for _, of := range []struct {
		spread float64 // of its blocks
		takes  time.Duration
	}{{0.055, 1900 * time.Millisecond}, {0.16, 2100 * time.Millisecond}, {0.11, 2300 * time.Millisecond}, {0.08, 2700 * time.Millisecond}, {0.15, 4 * time.Second}, {0.03, time.Second}} {
		cs := &runCase{rounds: 1, blocks: looks[0], looked: looks[0], halfWidth: of.spread * width(looks[0]), round: []time.Duration{0}, fixed: []time.Duration{of.takes}}
		cases, spread[cs] = append(cases, cs), of.spread
	}
	narrows := func(cs *runCase) float64 {
		return spread[cs] * (width(cs.blocks) - width(cs.blocks+1)) / cs.takes().Seconds()
	}
	for block := range 60 {
		next := best(cases, time.Minute)
		for _, cs := range cases {
			if narrows(cs) > 1.001*narrows(next) {
				t.Errorf("block %d goes to a case that has %d and narrows by %.5f a second; one that has %d narrows by %.5f", block, next.blocks, narrows(next), cs.blocks, narrows(cs))
			}
		}
		if next.blocks++; slices.Contains(looks, next.blocks) {
			next.halfWidth, next.looked = spread[next]*width(next.blocks), next.blocks
		}
	}
}

// A run whose last block took it beyond its budget has nothing left to share out: its rounds stay
// what they were, and no case is said to be left out.
func TestNothingIsSharedOutPastTheBudget(t *testing.T) {
	var notes []string
	r := &run{Conductor: &Conductor{Observe: func(s Status) { notes = append(notes, s.Note) }}, deadline: time.Now().Add(-time.Second),
		rec: &record.Record{Run: record.Run{Rounds: 24}}}
	for _, name := range []string{"one", "two"} {
		r.cases = append(r.cases, &runCase{name: name, rounds: 24, blocks: looks[0], round: make([]time.Duration, looks[0]), fixed: make([]time.Duration, looks[0])})
	}
	if err := r.measure(t.Context()); err != nil || r.cases[1].rounds != 24 || r.cases[1].waits || len(notes) > 0 {
		t.Errorf("%v, %d rounds, waits %t, told %q", err, r.cases[1].rounds, r.cases[1].waits, notes)
	}
}

// slowToCalibrate is a program whose batches take long until it is warmed up for the first time, as
// calibrating does in a run's first block.
type slowToCalibrate struct{ calibrated *atomic.Bool }

func (slowToCalibrate) Open(context.Context) error                     { return nil }
func (slowToCalibrate) Close(context.Context) (int64, []string, error) { return 0, nil, nil }
func (slowToCalibrate) Kill()                                          {}
func (s slowToCalibrate) Collect(context.Context, float64) error {
	s.calibrated.Store(true)
	return nil
}
func (s slowToCalibrate) Batch(_ context.Context, n int) (b *Batch, err error) {
	if !s.calibrated.Load() {
		time.Sleep(100 * time.Millisecond)
	}
	return &Batch{WallNS: int64(n) * time.Millisecond.Nanoseconds(), CPUNS: -1}, nil
}

// slowAtFirst is a program whose first processes, of a run's first block, start slowly.
type slowAtFirst struct {
	slowToCalibrate
	started *atomic.Int64
}

func (s slowAtFirst) Open(context.Context) error {
	if s.started.Add(1) == 1 {
		time.Sleep(700 * time.Millisecond)
	}
	return nil
}

// Blocks that turn out to take less than the first have their rounds again.
func TestRoundsComeBack(t *testing.T) {
	var calibrated atomic.Bool
	var started atomic.Int64
	calibrated.Store(true)
	suite := Suite{Stage: "test", Cases: []Case{{Name: "Test/op=started", Baseline: "impl=a", Contenders: []Contender{
		{Name: "impl=a", Checks: "nothing", Start: func(context.Context, int) (Runner, error) {
			return slowAtFirst{slowToCalibrate{&calibrated}, &started}, nil
		}},
	}}}}
	entries := Entries([]Suite{suite})
	rec, _ := told(t, Plan{Entries: entries, Rounds: DefaultRounds}, 3*time.Second, 0.5)
	rounds := roundsOfBlocks(rec)
	if n := len(rounds); n < looks[0] || rounds[1] >= steadyRounds || rounds[n-1] < steadyRounds {
		t.Errorf("rounds a block: %v", rounds)
	}
}

// What only the first block does is not expected of the others: they keep their rounds.
func TestCalibratingIsNotExpectedAgain(t *testing.T) {
	var calibrated atomic.Bool
	suite := Suite{Stage: "test", Cases: []Case{{Name: "Test/op=calibrated", Baseline: "impl=a", Contenders: []Contender{
		{Name: "impl=a", Checks: "nothing", Start: func(context.Context, int) (Runner, error) { return slowToCalibrate{&calibrated}, nil }},
	}}}}
	entries := Entries([]Suite{suite})
	rec, _ := told(t, Plan{Entries: entries, Rounds: DefaultRounds}, 3*time.Second, 0.5)
	if rounds := roundsOfBlocks(rec); len(rounds) < looks[0] || slices.Min(rounds) < steadyRounds {
		t.Errorf("rounds a block: %v", rounds)
	}
}

func roundsOfBlocks(rec *record.Record) (rounds []int) {
	for i := range rec.Blocks {
		rounds = append(rounds, len(rec.Blocks[i].Series[0].WallNS))
	}
	return rounds
}

// Blocks of batches in pieces get so few rounds that there are more blocks, those of whole batches
// more; and both more again where there is more time than for the most blocks.
func TestRoundsOrBlocks(t *testing.T) {
	const cases = 16
	for _, tt := range []struct {
		name            string
		fixed, round    time.Duration
		fewest, now     int
		atLeast, atMost int
	}{
		{"pieces", 320 * time.Millisecond, 41 * time.Millisecond, 6, DefaultRounds, 6, 9},
		{"pieces that need rounds", 320 * time.Millisecond, 41 * time.Millisecond, 14, DefaultRounds, 14, 15},
		{"pieces, and time for other rounds", 200 * time.Millisecond, 25 * time.Millisecond, 4, DefaultRounds, 6, 9},
		{"pieces, and more time than blocks", 10 * time.Millisecond, 2 * time.Millisecond, 4, 5, DefaultRounds, DefaultRounds},
		{"pieces, and time again", 50 * time.Millisecond, 5 * time.Millisecond, 4, 5, 8, 12},
		{"whole batches", 320 * time.Millisecond, 41 * time.Millisecond, 0, DefaultRounds, 14, 16},
		{"whole batches, and time again", 320 * time.Millisecond, 5 * time.Millisecond, 0, 4, 20, DefaultRounds},
	} {
		r := &run{Conductor: &Conductor{}, deadline: time.Now().Add(cases * (6300*time.Millisecond - tt.fixed - time.Duration(tt.now)*tt.round)),
			rec: &record.Record{Run: record.Run{Rounds: tt.now}}}
		for range cases {
			r.cases = append(r.cases, &runCase{rounds: tt.now, blocks: 1, halfWidth: math.Inf(1), fewest: tt.fewest,
				round: []time.Duration{tt.round}, fixed: []time.Duration{tt.fixed}})
		}
		r.fit()
		if got := r.cases[0].rounds; got < tt.atLeast || got > tt.atMost {
			t.Errorf("%s: %d rounds, want %d to %d", tt.name, got, tt.atLeast, tt.atMost)
		}
	}
}

// answering answers as a worker whose batches are in pieces, or as one that fails to calibrate.
type answering struct {
	rounds int
	err    error
}

func (answering) Kill() {}
func (a answering) ask(_ context.Context, q request, _ time.Duration) (reply, error) {
	switch q.Op {
	case opCalibrate:
		return reply{N: 64, Pieces: 32, Rounds: a.rounds}, a.err
	case opWarm:
		return reply{Rounds: a.rounds}, nil
	}
	return reply{}, nil
}

// The rounds that the pieces of a case need are known in a resumed run too, and of contenders that
// work.
func TestRoundsOfPiecesOfACase(t *testing.T) {
	for i, n := range []int{0, 64} {
		r, cs := &run{Conductor: &Conductor{}, rec: &record.Record{}}, &runCase{}
		var seats []*seat
		for _, child := range []answering{{rounds: 6}, {rounds: 9}, {err: errors.New("no file")}} {
			seats = append(seats, &seat{entry: Entry{Case: &Case{}, Contender: Contender{Name: fmt.Sprint(len(seats))}}, row: &record.Row{}, child: child})
		}
		seats[0].row.N, seats[1].row.N = n, n
		r.setUp(t.Context(), cs, seats, 1+3*i)
		if cs.fewest != 9 || cs.whole {
			t.Errorf("batches of %d operations, at first: %d rounds, whole batches %v", n, cs.fewest, cs.whole)
		}
	}
}

// Where blocks take twice what is expected, a first look of 90 s answers what it can: it begins
// with the cases that take least, and expects the others to be as slow as those, not as the one
// whose batches take longest.
func TestFirstLookOnASlowMachine(t *testing.T) {
	r := &run{Conductor: &Conductor{}, rec: &record.Record{}, deadline: time.Now().Add(85 * time.Second)}
	type takes struct{ once, fixed, round time.Duration }
	truth := map[*runCase]takes{}
	for _, of := range []struct {
		name    string
		rows    int
		batch   time.Duration
		seconds [3]float64
	}{
		{"Route", 9, 40 * time.Millisecond, [3]float64{1.0, 3.5, 0.55}},
		{"Encode", 8, 0, [3]float64{1.1, 2.1, 0.10}},
		{"Decode", 9, 0, [3]float64{1.9, 2.8, 0.11}},
		{"Seal", 9, 0, [3]float64{1.3, 1.7, 0.11}},
		{"Send", 5, 0, [3]float64{1.9, 1.25, 0.07}},
		{"Store", 7, 30 * time.Millisecond, [3]float64{1.6, 3.4, 0.22}},
		{"Apply", 6, 0, [3]float64{0.9, 1.5, 0.09}},
	} {
		cs := &runCase{name: of.name, rounds: 15, halfWidth: math.Inf(1), served: true}
		for range of.rows {
			cs.entries = append(cs.entries, Entry{Case: &Case{Name: of.name, Batch: of.batch}})
		}
		r.cases = append(r.cases, cs)
		truth[cs] = takes{time.Duration(of.seconds[0] * 1e9), time.Duration(of.seconds[1] * 1e9), time.Duration(of.seconds[2] * 1e9)}
	}
	for r.left() > 0 {
		r.fit()
		cs := best(r.cases, r.left())
		if cs == nil {
			break
		}
		is := truth[cs]
		if len(cs.round) == 0 {
			r.deadline = r.deadline.Add(-is.once)
		}
		r.deadline = r.deadline.Add(-is.fixed - time.Duration(cs.rounds)*is.round)
		cs.round, cs.fixed = append(cs.round, is.round), append(cs.fixed, is.fixed)
		cs.blocks++
		r.foresee()
	}
	answered, text := 0, ""
	for _, cs := range r.cases {
		text += fmt.Sprintf(" %s %d", cs.name, cs.blocks)
		if cs.blocks >= looks[0] {
			answered++
		}
	}
	if text += fmt.Sprintf(", %v left", r.left()); answered < 5 || r.cases[1].blocks < looks[0] {
		t.Errorf("%d cases have an interval:%s", answered, text)
	}
}
