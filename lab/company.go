package lab

import (
	"fmt"
	"slices"

	"postage/record"
)

// A contender sits out one block in restsEvery, where there are at least fewestDrawn beside the
// baseline and the floors.
const restsEvery, fewestDrawn = 4, 3

// company are the entries that take part in a block: the baseline and the floors, and of the others
// those that do not sit out, which is drawn; all in the first blocks, as a short run has no more.
// So a row is not always beside the same rows, as it would not be in another run. Sides that take
// turns have the same company.
func (r *run) company(cs *runCase, block int) []Entry {
	after := block - 1 - goals[0].blocks
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
	live := r.live(cs)
	cs.rows, cs.blocks = len(live), 0
	for i, e := range live {
		if n := cs.had[e.Row()]; i == 0 || n < cs.blocks {
			cs.blocks = n
		}
	}
}
