package lab

import (
	"fmt"
	"slices"
	"time"

	"postage/record"
)

// A contender sits out one block in restsEvery, where there are at least fewestDrawn beside the
// baseline and the floors.
const restsEvery, fewestDrawn = 4, 3

// company are the entries that take part in a block: the baseline and the floors, and of the others
// those that do not sit out, which is drawn; all in the first blocks, up to the first look, as a
// short run has no more. So a row is not always beside the same rows, as it would not be in another
// run. Sides that take turns have the same company.
func (r *run) company(cs *runCase, block int) []Entry {
	after := block - 1 - looks[0]
	turn, order := after%restsEvery, []int(nil)
	if after >= 0 && cs.drawn() {
		order = drawn(r.rec.Run.Seed, fmt.Sprintf("%s/company/%d", cs.name, after/restsEvery)).Perm(len(cs.entries))
	}
	var in []Entry
	for i, e := range cs.entries {
		if r.rec.Row(e.Row()).OK() && (order == nil || !e.sitsOut() || order[i]%restsEvery != turn) {
			in = append(in, e)
		}
	}
	return in
}

func (e *Entry) sitsOut() bool {
	return e.Role != record.RoleBaseline && e.Role != record.RoleFloor
}

// sameCode reports whether the case's rows are of the same code, old and new or slowed.
func (cs *runCase) sameCode() bool {
	return slices.ContainsFunc(cs.entries, func(e Entry) bool { return e.Old || e.Stage == CalibrationStage })
}

// drawn reports whether the case's company is.
func (cs *runCase) drawn() bool {
	others := 0
	for i := range cs.entries {
		if cs.entries[i].sitsOut() {
			others++
		}
	}
	return others >= fewestDrawn && !cs.sameCode()
}

// count takes note of a block, and finds how many blocks the row has that has fewest.
func (r *run) count(cs *runCase, block *record.Block) {
	for i := range block.Series {
		cs.had[block.Series[i].Row]++
	}
	cs.blocks = 0
	for i, e := range r.live(cs) {
		if n := cs.had[e.Row()]; i == 0 || n < cs.blocks {
			cs.blocks = n
		}
	}
}

// moreBlocks are those that a case has at the end of a run in whose first half it was done: what
// changes with the hour would not show in its interval.
const moreBlocks = 2

// comesBack is a case that is to come back for blocks at the run's end, nil for none: when nothing
// else is left to measure, or when the time that is left is just enough for all of them.
func (r *run) comesBack(last bool) (next *runCase) {
	var takes time.Duration
	for _, cs := range r.cases {
		early := cs.back > 0 || cs.last.Sub(r.start) < time.Since(r.start)/2
		if cs.done && early && cs.back < moreBlocks && len(r.live(cs)) > 0 && cs.looked < looks[len(looks)-1] {
			takes += time.Duration(moreBlocks-cs.back) * cs.takes()
			if next == nil || cs.back < next.back {
				next = cs
			}
		}
	}
	if next == nil || !last && r.left() > takes || r.left() < next.takes() {
		return nil
	}
	next.back++
	return next
}
