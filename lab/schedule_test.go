package lab

import (
	"math"
	"slices"
	"testing"
	"time"
)

// measuredCase is a case of so many rows, of which one takes fixed for a block and round for each
// of its rounds, as its blocks showed.
func measuredCase(rows, blocks int, fixed, round time.Duration) *turns {
	return &turns{rows: rows, blocks: blocks, halfWidth: math.Inf(1), fixed: []time.Duration{fixed}, round: []time.Duration{round}}
}

// With plenty of time every case gets the blocks of the first goal before any gets more, all of
// DefaultRounds. The next block goes to a case that has fewest, and first to the one that takes
// least.
func TestFewestBlocksFirst(t *testing.T) {
	slow, quick, middle := measuredCase(8, 0, time.Second, 50*time.Millisecond), measuredCase(4, 0, 0, 10*time.Millisecond), measuredCase(8, 0, 100*time.Millisecond, 20*time.Millisecond)
	cases := []*turns{quick, middle, slow}
	for turn := range goals[0].blocks {
		for _, want := range []*turns{quick, middle, slow} {
			got, rounds := next(cases, time.Hour)
			if got != want || rounds != DefaultRounds {
				t.Fatalf("turn %d: a block of %d rounds for case %d, want %d for case %d", turn+1,
					rounds, slices.Index(cases, got), DefaultRounds, slices.Index(cases, want))
			}
			got.blocks++
		}
	}
}

// With less time blocks have fewer rounds, and only when they have few are there fewer blocks.
func TestRoundsShrinkBeforeBlocks(t *testing.T) {
	cases := []*turns{measuredCase(4, 0, 100*time.Millisecond, 10*time.Millisecond), measuredCase(8, 0, 100*time.Millisecond, 10*time.Millisecond)}
	expect := func(left time.Duration, want goal) {
		t.Helper()
		if got := inReach(cases, left); got != want {
			t.Errorf("%v: %d blocks of %d rounds, want %d of %d", left, got.blocks, got.rounds, want.blocks, want.rounds)
		}
	}
	expect(time.Hour, goal{goals[0].blocks, DefaultRounds})
	for i, g := range goals {
		enough := func(rounds int) time.Duration { return missing(cases, g.blocks, rounds)*10/9 + 1 } // a tenth is kept
		expect(enough(g.rounds+1), goal{g.blocks, g.rounds + 1})
		just := enough(g.rounds)
		if expect(just, g); i == len(goals)-1 {
			expect(just/10, g) // there is no time for it
			break
		}
		// The time of the blocks that are missing goes to more rounds.
		if got := inReach(cases, just-2); got.blocks != goals[i+1].blocks || got.rounds < goals[i+1].rounds {
			t.Errorf("%v: %d blocks of %d rounds, want %d of at least %d", just-1, got.blocks, got.rounds, goals[i+1].blocks, goals[i+1].rounds)
		}
	}
}

// Where blocks have function layouts of their own, each layout gets one block that is as long as the
// time allows, and later blocks are as long. With less time they are as everywhere.
func TestLayoutsHaveLongBlocks(t *testing.T) {
	c := measuredCase(2, 0, 100*time.Millisecond, 10*time.Millisecond)
	c.layouts = 16
	cases := []*turns{c}
	for rounds, want := range map[int]goal{longRounds: {16, longRounds}, DefaultRounds + 1: {16, DefaultRounds + 1}, DefaultRounds: {goals[0].blocks, DefaultRounds}} {
		if got := inReach(cases, missing(cases, 16, rounds)*10/9+1); got != want {
			t.Errorf("with time for %d rounds in each layout: %+v, want %+v", rounds, got, want)
		}
	}
	c.blocks = 16
	if _, rounds := next(cases, time.Hour); rounds != longRounds {
		t.Errorf("a block beyond the layouts has %d rounds, want %d", rounds, longRounds)
	}
}

// A block that would take longer than what is left has fewer rounds; where the fewest take longer,
// there is none.
func TestLastBlockFits(t *testing.T) {
	const fixed, round = 10 * time.Second, time.Second
	c := measuredCase(1, goals[0].blocks, fixed, round)
	for left, want := range map[time.Duration]int{
		time.Hour:                            DefaultRounds,
		fixed + (fewestRounds+1)*round:       fewestRounds + 1,
		fixed + fewestRounds*round:           fewestRounds,
		fixed + fewestRounds*round - round/2: 0,
		-round:                               0,
	} {
		got, rounds := next([]*turns{c}, left)
		if rounds != want || (got == c) != (want > 0) {
			t.Errorf("%v left: a block of %d rounds, want %d", left, rounds, want)
		}
	}
}

// A block that met a hang says nothing of the next.
func TestHang(t *testing.T) {
	hung := measuredCase(8, 2, setUpEstimate, batchTarget)
	hung.fixed, hung.round = append(hung.fixed, time.Minute), append(hung.round, time.Minute)
	if got, want := hung.takes(DefaultRounds), estimated(8, 0, DefaultRounds); got != want {
		t.Errorf("after a hang a block is expected to take %v, want %v", got, want)
	}
}

// truth is what a simulated case's blocks take, a row. Its first block takes once more.
type truth struct{ once, fixed, round time.Duration }

// simulate has the schedule measure the cases, and returns the time that it leaves.
func simulate(cases []*turns, is map[*turns]truth, left time.Duration) time.Duration {
	for {
		for c := costliest(cases, left); c != nil; c = costliest(cases, left) {
			c.rows--
		}
		c, rounds := next(cases, left)
		if c == nil {
			return left
		}
		left -= time.Duration(c.rows) * (is[c].fixed + time.Duration(rounds)*is[c].round)
		if len(c.round) == 0 {
			left -= time.Duration(c.rows) * is[c].once
		}
		c.fixed, c.round = append(c.fixed, is[c].fixed), append(c.round, is[c].round)
		c.blocks++
		c.halfWidth = 0.1 * width(c.blocks)
	}
}

// look is a first look of so many cases of eight rows, whose blocks take so many times what is
// estimated.
func look(times ...float64) (cases []*turns, is map[*turns]truth) {
	is = map[*turns]truth{}
	for _, x := range times {
		c := &turns{rows: 8, halfWidth: math.Inf(1)}
		is[c] = truth{time.Duration(x * 1e8), time.Duration(x * float64(setUpEstimate)), time.Duration(x * float64(batchTarget))}
		cases = append(cases, c)
	}
	return cases, is
}

// seen is the first look as it was on a slow machine: in seconds what the first block and every
// block took beside its rounds.
func seen() (cases []*turns, is map[*turns]truth) {
	is = map[*turns]truth{}
	for _, of := range []struct {
		rows        int
		batch       time.Duration
		once, fixed float64
	}{
		{9, 40 * time.Millisecond, 1.0, 3.5}, // route
		{8, 0, 1.1, 2.1},                     // encode
		{9, 0, 1.9, 2.8},                     // decode
		{9, 0, 1.3, 1.7},                     // seal
		{5, 0, 1.9, 1.25},                    // send
		{7, 30 * time.Millisecond, 1.6, 3.4}, // store
		{6, 0, 0.9, 1.5},                     // apply
	} {
		row := func(seconds float64) time.Duration { return time.Duration(seconds * 1e9 / float64(of.rows)) }
		c := &turns{rows: of.rows, batch: of.batch, halfWidth: math.Inf(1)}
		is[c] = truth{row(of.once), row(of.fixed), max(of.batch, batchTarget) * 3 / 2}
		cases = append(cases, c)
	}
	return cases, is
}

// A first look in miniature: of seven cases in 90 s each has an interval, on a slow machine too.
// Rows are lost only where there is no time for them, and no time is left for another block.
func TestFirstLook(t *testing.T) {
	of := func(times ...float64) func() ([]*turns, map[*turns]truth) {
		return func() ([]*turns, map[*turns]truth) { return look(times...) }
	}
	for _, tt := range []struct {
		name string
		of   func() ([]*turns, map[*turns]truth)
		lost int // rows, at most
	}{
		{"as estimated", of(1, 1, 1, 1, 1, 1, 1), 0},
		{"faster", of(0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3), 0},
		{"twice as long", of(2, 2, 2, 2, 2, 2, 2), 0},
		{"three times as long", of(3, 3, 3, 3, 3, 3, 3), 20},
		{"the last case four times as long", of(1, 1, 1, 1, 1, 1, 4), 0},
		{"on a slow machine", seen, 20},
	} {
		cases, is := tt.of()
		rows, longest := 0, time.Duration(0)
		for _, c := range cases {
			rows += c.rows
		}
		left := simulate(cases, is, 90*time.Second)
		for i, c := range cases {
			if c.blocks < goals[len(goals)-1].blocks || c.rows < fewestRows {
				t.Errorf("%s: case %d ends with %d blocks of %d rows", tt.name, i, c.blocks, c.rows)
			}
			rows, longest = rows-c.rows, max(longest, c.takes(fewestRounds))
		}
		if left < 0 || left > longest {
			t.Errorf("%s: %v left, and a block takes at most %v", tt.name, left, longest)
		}
		if rows > tt.lost {
			t.Errorf("%s: %d rows lost, want at most %d", tt.name, rows, tt.lost)
		}
	}
}

// A case that takes long by itself, and happens to be measured first, takes no rows from others:
// they may be as quick as estimated, and a row once lost does not come back.
func TestOneSlowCaseTakesNoRowsFromOthers(t *testing.T) {
	cases, is := look(4, 1, 1, 1, 1, 1, 1)
	simulate(cases, is, 90*time.Second)
	for i, c := range cases[1:] {
		if c.rows < 8 {
			t.Errorf("case %d ends with %d of 8 rows, %d blocks", i+1, c.rows, c.blocks)
		}
	}
}

// Where there is no time for the last goal, the case whose missing blocks take most loses rows,
// until there is; none where the fewest would still take too long.
func TestCostliest(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, tt := range []struct {
		name  string
		cases []*turns
		left  time.Duration
		want  []int // rows that remain
	}{
		// A block takes 0.1 s a row, four blocks of eight rows 3.2 s.
		{"it fits", []*turns{measuredCase(8, 0, 100*ms, 0), measuredCase(8, 0, 100*ms, 0)}, 7 * s, []int{8, 8}},
		{"alike", []*turns{measuredCase(8, 0, 100*ms, 0), measuredCase(8, 0, 100*ms, 0)}, 5 * s, []int{6, 6}},
		{"one takes longer", []*turns{measuredCase(8, 0, 100*ms, 0), measuredCase(8, 0, 300*ms, 0)}, 9 * s, []int{8, 4}},
		{"one has its blocks", []*turns{measuredCase(8, 4, s, s), measuredCase(8, 0, 100*ms, 0)}, 2 * s, []int{8, 5}},
		{"one is done", []*turns{{rows: 8, done: true}, measuredCase(8, 0, 100*ms, 0)}, 2 * s, []int{8, 5}},
		{"the fewest rows take too long", []*turns{measuredCase(8, 0, 100*ms, 0), measuredCase(3, 0, s, s)}, 2 * s, []int{8, 3}},
		{"to lose rows of a case that has its blocks saves nothing", []*turns{measuredCase(8, 4, s, s), measuredCase(4, 0, s, s)}, 2 * s, []int{8, 4}},
		{"the last block took longer than was left", []*turns{measuredCase(8, 4, s, s), {rows: 8, done: true}}, -s, []int{8, 8}},
	} {
		var got []int
		for c := costliest(tt.cases, tt.left); c != nil; c = costliest(tt.cases, tt.left) {
			c.rows--
		}
		for _, c := range tt.cases {
			got = append(got, c.rows)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d rows remain, want %d", tt.name, got, tt.want)
		}
	}
}

// Once all cases have the blocks of the goal, the next one goes where it narrows most per second.
func TestNextBlockNarrowsMostPerSecond(t *testing.T) {
	var cases []*turns
	spread := map[*turns]float64{}
	for _, of := range []struct {
		spread float64 // of its blocks
		takes  time.Duration
	}{{0.055, 1900 * time.Millisecond}, {0.16, 2100 * time.Millisecond}, {0.11, 2300 * time.Millisecond}, {0.08, 2700 * time.Millisecond}, {0.15, 4 * time.Second}, {0.03, time.Second}} {
		c := measuredCase(1, goals[0].blocks, of.takes, 0)
		c.halfWidth = of.spread * width(c.blocks)
		cases, spread[c] = append(cases, c), of.spread
	}
	narrows := func(c *turns) float64 {
		return spread[c] * (width(c.blocks) - width(c.blocks+1)) / c.takes(DefaultRounds).Seconds()
	}
	for block := range 60 {
		best, _ := next(cases, time.Minute)
		for _, c := range cases {
			if narrows(c) > 1.001*narrows(best) {
				t.Errorf("block %d goes to a case that has %d and narrows by %.5f a second; one that has %d narrows by %.5f", block, best.blocks, narrows(best), c.blocks, narrows(c))
			}
		}
		best.blocks++
		best.halfWidth = spread[best] * width(best.blocks)
	}
}

// A case that is done gets no block, even if it is the only one that there is time for.
func TestDoneCasesGetNone(t *testing.T) {
	done, other := measuredCase(4, 6, 0, time.Millisecond), measuredCase(4, 20, time.Second, time.Millisecond)
	done.done = true
	for left, want := range map[time.Duration]*turns{time.Hour: other, time.Second: nil} {
		if got, _ := next([]*turns{done, other}, left); got != want {
			t.Errorf("%v left: %+v, want %+v", left, got, want)
		}
	}
}

// An interval's width is about Student's t of its blocks over the root of their number.
func TestWidth(t *testing.T) {
	for n, student := range map[int]float64{5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262, 56: 2.004} {
		if got := width(n) * math.Sqrt(float64(n)); math.Abs(got/student-1) > 0.03 {
			t.Errorf("%d blocks: %.3f, t is %.3f", n, got, student)
		}
	}
}
