package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"postage/record"
)

// lower is the lower median: a block that met a hang says nothing of the next.
func lower(of []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(of))[(len(of)-1)/2]
}

// takes is what it takes to give each row of the case a block.
func (cs *runCase) takes() time.Duration { return cs.takesWith(cs.rounds) }

// takesWith is what blocks of so many rounds take: an estimate before there was one, times how much
// longer than theirs the blocks of the other cases took.
func (cs *runCase) takesWith(rounds int) time.Duration {
	if len(cs.round) == 0 {
		return time.Duration(max(1, cs.slower) * float64(estimated(cs.entries, rounds)))
	}
	takes := lower(cs.fixed) + time.Duration(rounds)*lower(cs.round)
	if cs.blocks >= looks[0] && cs.drawn() {
		takes = takes * restsEvery / (restsEvery - 1)
	}
	return takes
}

// foresee has the cases that had no block yet expect theirs to be as much slower than estimated as
// those of the others were, of which one may be slow itself: as the least slow.
func (r *run) foresee() {
	slower := math.Inf(1)
	for _, cs := range r.cases {
		if len(cs.round) > 0 {
			slower = min(slower, float64(cs.takes())/float64(max(1, estimated(cs.entries, cs.rounds))))
		}
	}
	for _, cs := range r.cases {
		cs.slower = slower
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
func (cs *runCase) gain() float64 {
	if cs.blocks < looks[0] || math.IsInf(cs.halfWidth, 1) {
		return math.MaxFloat64 / float64(2+len(cs.round))
	}
	return cs.expected() * (1 - width(cs.blocks+1)/width(cs.blocks)) / max(1e-9, cs.takes().Seconds())
}

// best is the case that the next block goes to, of those that have time for one: until all have the
// blocks for a first look, the one with fewest, so that a disturbance of a minute does not affect
// one case alone, and of these the one that takes least, from which the others' time shows; then
// the one whose widest interval shrinks most per second.
func best(cases []*runCase, left time.Duration) *runCase {
	var next *runCase
	for _, cs := range cases {
		for cs.blocks > 0 && cs.blocks < looks[0] && cs.takes() > left && cs.takesWith(fewestRounds) <= left {
			cs.rounds-- // of a first look, few are better than none
		}
		if cs.done || cs.waits || cs.takes() > left {
			continue
		}
		if next == nil || cs.gain() > next.gain() || cs.gain() == next.gain() && cs.takes() < next.takes() {
			next = cs
		}
	}
	return next
}

// active are the cases that take turns now.
func (r *run) active() []*runCase {
	return slices.DeleteFunc(slices.Clone(r.cases), func(cs *runCase) bool { return cs.waits || cs.done })
}

// fit shares out the time that is left, when all cases have had a block or a few, or by the first
// two not all can have those of a first look. If these do not fit, blocks get fewer rounds; if that
// is not enough, cases wait, those that take longest first. They come back if blocks take less.
func (r *run) fit() {
	rest := func(cs *runCase, rounds int) time.Duration {
		return time.Duration(max(0, looks[0]-cs.blocks)) * cs.takesWith(min(cs.rounds, rounds))
	}
	active := r.active()
	least, begun := time.Duration(0), 0
	for _, cs := range active {
		least += rest(cs, fewestRounds)
		begun += min(1, len(cs.round))
	}
	if !r.abreast() && !(begun > 1 && least > r.left()) {
		return
	}
	for _, cs := range r.cases {
		// If there is no time for an interval, figures without one are better than none.
		one := least == 0 && len(cs.round) == 0 && cs.takes() <= r.left()
		if cs.waits && cs.served && (one || least+rest(cs, fewestRounds) <= r.left()*9/10) {
			r.resume(cs)
			return
		}
	}
	for _, cs := range active {
		if len(cs.round) > 0 {
			cs.balance(r.left() / time.Duration(len(active)))
		}
	}
	slices.SortStableFunc(active, func(a, b *runCase) int { return cmp.Compare(rest(a, fewestRounds), rest(b, fewestRounds)) })
	takes := func(i, rounds int) time.Duration { return rest(active[i], rounds) }
	kept, _ := fitted(len(active), fewestRounds, r.left(), takes)
	_, rounds := fitted(kept, DefaultRounds, r.left()*9/10, takes) // blocks differ
	var waiting []string
	for i, cs := range active {
		if cs.rounds = min(cs.rounds, rounds); i >= kept {
			cs.waits = true
			waiting = append(waiting, cs.name)
		}
	}
	if len(waiting) > 0 {
		r.tell("blocks take longer here than the budget allows: no interval, unless time remains, for %s", strings.Join(waiting, ", "))
	}
	if !r.foretold && !slices.ContainsFunc(active[:kept], func(cs *runCase) bool { return cs.blocks < looks[0] }) {
		r.foretold = true
		r.foretell()
	}
}

// resume has a case that waits be measured, as time remains for it.
func (r *run) resume(cs *runCase) {
	cs.waits = false
	for _, e := range cs.entries {
		if row := r.rec.Row(e.Row()); row.Proof.Is(record.ProofNotMeasured) {
			row.Proof = record.ProofOK
		}
	}
	r.tell("time remains for %s", cs.name)
}

// After how many rounds a block's value differs as much by its batches as by its processes, where
// whole batches are timed. Pieces are so alike that blocks of 7 rounds differ as those of 15 do.
const batchesApart, steadyRounds = DefaultRounds, 8

// balance gives the case's blocks the rounds with which a second narrows its intervals most: rounds
// narrow what differs between batches, and blocks what differs between processes, which take time
// to start. Where its share of the time is enough for the most blocks there may be, they get more.
func (cs *runCase) balance(share time.Duration) {
	fixed, round := lower(cs.fixed), lower(cs.round)
	if fixed <= 0 || round <= 0 {
		return
	}
	cs.rounds = max(steadyRounds, cs.fewest)
	if cs.whole || cs.fewest == 0 {
		cs.rounds = max(cs.rounds, int(math.Sqrt(batchesApart*float64(fixed)/float64(round))+0.5))
	}
	cs.rounds = min(DefaultRounds, cs.rounds)
	most := time.Duration(looks[len(looks)-1] - cs.blocks)
	for cs.rounds < DefaultRounds && most*cs.takesWith(cs.rounds+1) < share {
		cs.rounds++
	}
}

// abreast says whether all cases that do not wait have had equally many blocks, or those of
// a first look.
func (r *run) abreast() bool {
	var had []int
	for _, cs := range r.active() {
		had = append(had, min(len(cs.round), looks[0]))
	}
	return len(had) == 0 || had[0] > 0 && slices.Min(had) == slices.Max(had)
}

// noteServers notes, at the beginning, which cases have the servers that they need: those are
// started for rows that are measured from the beginning.
func (r *run) noteServers() {
	for _, cs := range r.all {
		service := cs.entries[0].Case.Service
		cs.served = service == nil || slices.ContainsFunc(r.all, func(o *runCase) bool { return !o.waits && o.entries[0].Case.Service == service })
	}
}

// foretell says what precision to expect, from the intervals of the first look and the blocks that
// there is time for, and what the wanted precision would take.
func (r *run) foretell() {
	wanted, cases := r.rec.Run.Precision, []*runCase(nil)
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
	for next := best(cases, left); next != nil; next = best(cases, left) {
		left -= next.takes()
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
			more += cs.takes()
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
