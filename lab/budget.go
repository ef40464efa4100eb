package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"postage/record"
)

// takes is what a block of so many rounds of the case takes: an estimate before it had one, times
// how much longer than theirs the blocks of the others took;
// then the lower median, as a block that met a hang says nothing of the next.
func (cs *runCase) takes(rounds int) time.Duration {
	if len(cs.round) == 0 {
		return time.Duration(max(1, cs.slower) * float64(estimated(cs.entries, rounds)))
	}
	lower := func(of []time.Duration) time.Duration { return slices.Sorted(slices.Values(of))[(len(of)-1)/2] }
	return lower(cs.fixed) + time.Duration(rounds)*lower(cs.round)
}

// foresee has the cases that had no block yet expect theirs to be as much slower than estimated as
// those of the others were.
func (r *run) foresee() {
	var took, estimate time.Duration
	for _, cs := range r.cases {
		if len(cs.round) > 0 {
			took, estimate = took+cs.takes(r.rec.Run.Rounds), estimate+estimated(cs.entries, r.rec.Run.Rounds)
		}
	}
	for _, cs := range r.cases {
		cs.slower = float64(took) / float64(max(1, estimate))
	}
}

// width is how wide an interval of so many blocks is beside others: about Student's t over
// the root of their number.
func width(blocks int) float64 {
	n := float64(blocks)
	return (1.96 + 3/max(1, n-1)) / math.Sqrt(n)
}

// expected is about how wide the case's widest interval is now, from what it was at the last look.
func (cs *runCase) expected() float64 { return cs.halfWidth * width(cs.blocks) / width(cs.looked) }

// gain is by how much a second more narrows the case's widest interval, above all that
// any interval can gain while there is none yet.
func (cs *runCase) gain(rounds int) float64 {
	if cs.blocks < looks[0] || math.IsInf(cs.halfWidth, 1) {
		return math.MaxFloat64 / float64(2+len(cs.round))
	}
	return cs.expected() * (1 - width(cs.blocks+1)/width(cs.blocks)) / max(1e-9, cs.takes(rounds).Seconds())
}

// best is the case that the next block goes to, of those that have time for one: until all have the
// blocks for a first look, the one with fewest, so that a disturbance of a minute does not affect
// one case alone; then the one whose widest interval shrinks most per second.
func best(cases []*runCase, rounds int, left time.Duration) *runCase {
	var next *runCase
	for _, cs := range cases {
		if cs.done || cs.waits || cs.takes(rounds) > left {
			continue
		}
		if next == nil || cs.gain(rounds) > next.gain(rounds) {
			next = cs
		}
	}
	return next
}

// fit looks, when all cases have had a block or a few, or the first ones took so long that not half
// of it fits, whether each can have those of a first look in the time that is left. If not, blocks
// get fewer rounds; if that is not enough, cases wait, the last ones first. If blocks turn out to
// take less, cases that wait are come back to, and then blocks may get more rounds.
func (r *run) fit() {
	rest := func(cs *runCase, rounds int) time.Duration {
		return time.Duration(max(0, looks[0]-cs.blocks)) * cs.takes(rounds)
	}
	active := slices.DeleteFunc(slices.Clone(r.cases), func(cs *runCase) bool { return cs.waits || cs.done })
	var needed time.Duration
	for _, cs := range active {
		needed += rest(cs, r.rec.Run.Rounds)
	}
	begun := slices.ContainsFunc(active, func(cs *runCase) bool { return len(cs.round) > 0 })
	if !r.abreast() && !(begun && needed > 2*r.left()) {
		return
	}
	for _, cs := range r.cases {
		if cs.waits && r.servable(cs) && needed+rest(cs, r.rec.Run.Rounds) <= r.left()*3/4 {
			cs.waits = false
			for _, e := range cs.entries {
				if row := r.rec.Row(e.Row()); row.Proof.Is(record.ProofNotMeasured) {
					row.Proof = record.ProofOK
				}
			}
			r.tell("time remains for %s", cs.name)
			return
		}
	}
	if needed > 0 && (needed > r.left() || r.rec.Run.Rounds < DefaultRounds) {
		r.balance(active)
	}
	kept, rounds := fitted(len(active), r.rec.Run.Rounds, r.left(), func(i, rounds int) time.Duration { return rest(active[i], rounds) })
	r.rec.Run.Rounds = rounds
	var waiting []string
	for _, cs := range active[kept:] {
		cs.waits = true
		waiting = append(waiting, cs.name)
	}
	if len(waiting) > 0 {
		r.tell("blocks take longer here than the budget allows: no interval, unless time remains, for %s", strings.Join(waiting, ", "))
	}
	if slices.ContainsFunc(active[:kept], func(cs *runCase) bool { return rest(cs, rounds) > 0 }) {
		return
	}
	if !r.foretold {
		r.foretold = true
		r.foretell()
	}
}

// After how many rounds a block's value differs as much by its batches as by its processes. Fast
// pieces are so alike that blocks of 7 rounds differ as those of 15 do (docs/method.md).
const (
	piecesApart  = 5
	batchesApart = DefaultRounds
)

// balance gives blocks more rounds, or fewer, if that narrows intervals by a tenth more than the
// blocks do that it costs or saves: where to start processes takes longer than their rounds, and
// where the budget is too small for blocks of DefaultRounds. Blocks of whole batches get no fewer
// than they have.
func (r *run) balance(cases []*runCase) {
	now, apart := r.rec.Run.Rounds, piecesApart
	fewest := fewestRounds
	for _, cs := range cases {
		if fewest = max(fewest, cs.fewest); cs.fewest == 0 {
			fewest, apart = now, batchesApart
			break
		}
	}
	expected := func(rounds int) float64 {
		turn := time.Duration(0)
		for _, cs := range cases {
			turn += cs.takes(rounds)
		}
		// An eighth is kept, as blocks may take longer than the last ones.
		blocks := min(looks[len(looks)-1], cases[0].blocks+int(r.left()/8*7/max(1, turn)))
		if blocks < looks[0] {
			return math.Inf(1)
		}
		return width(blocks) * math.Sqrt(1/float64(rounds)+1/float64(apart))
	}
	narrowest := now
	for rounds := fewest; rounds <= DefaultRounds; rounds++ {
		if expected(rounds) < expected(narrowest) {
			narrowest = rounds
		}
	}
	if expected(narrowest) < 0.9*expected(now) {
		r.rec.Run.Rounds = narrowest
	}
}

// abreast says whether all cases that do not wait have had equally many blocks, or those of
// a first look.
func (r *run) abreast() bool {
	had := -1
	for _, cs := range r.cases {
		if cs.waits || cs.done {
			continue
		}
		if n := min(len(cs.round), looks[0]); had >= 0 && n != had {
			return false
		} else {
			had = n
		}
	}
	return had != 0
}

// servable says whether the servers are there that a case needs: they are started for rows
// that are measured from the beginning.
func (r *run) servable(cs *runCase) bool {
	service := cs.entries[0].Case.Service
	return service == nil || slices.ContainsFunc(r.cases, func(o *runCase) bool { return !o.waits && o.entries[0].Case.Service == service })
}

// foretell says what precision to expect, from the intervals of the first look and the blocks that
// there is time for, and what the wanted precision would take.
func (r *run) foretell() {
	rounds, wanted := r.rec.Run.Rounds, r.rec.Run.Precision
	var cases []*runCase
	for _, cs := range r.cases {
		if !cs.waits && !math.IsInf(cs.halfWidth, 1) {
			ahead := *cs
			cases = append(cases, &ahead)
		}
	}
	if !slices.ContainsFunc(cases, func(cs *runCase) bool { return !cs.done }) {
		return
	}
	forward := func(cs *runCase) {
		cs.blocks++
		cs.done = cs.expected() <= wanted || cs.blocks >= looks[len(looks)-1]
	}
	left := r.left()
	for next := best(cases, rounds, left); next != nil; next = best(cases, rounds, left) {
		left -= next.takes(rounds)
		forward(next)
	}
	slices.SortStableFunc(cases, func(a, b *runCase) int { return int(math.Copysign(1, a.expected()-b.expected())) })
	text := fmt.Sprintf("after a first look: expect ±%.1f%%", 100*cases[0].expected())
	if last := cases[len(cases)-1]; last != cases[0] {
		text += fmt.Sprintf(" (%s) to ±%.1f%% (%s)", cases[0].name, 100*last.expected(), last.name)
	}
	more, helpless := time.Duration(0), []string(nil)
	for _, cs := range cases {
		for !cs.done {
			more += cs.takes(rounds)
			forward(cs)
		}
		if cs.expected() > wanted {
			helpless = append(helpless, fmt.Sprintf("%s (±%.1f%%)", cs.name, 100*cs.expected()))
		}
	}
	if more > left {
		text += fmt.Sprintf("; for ±%.1f%% give --budget %v", 100*wanted, (r.rec.Run.Budget + more - left).Round(10*time.Second))
	}
	if len(helpless) > 0 {
		text += fmt.Sprintf("; too noisy for that with %d blocks too: %s", looks[len(looks)-1], strings.Join(helpless, ", "))
	}
	r.tell("%s", text)
}

// tell has the observer told something.
func (r *run) tell(format string, a ...any) {
	if r.Observe != nil {
		r.Observe(Status{Note: fmt.Sprintf(format, a...)})
	}
}

// lap adds the time since the last lap to what was spent on something.
func (r *run) lap(on string) {
	now := time.Now()
	if r.spent == nil {
		r.spent = map[string]time.Duration{}
	}
	r.spent[on] += now.Sub(r.lapped)
	r.lapped = now
}
