package lab

import (
	"fmt"
	"slices"

	"postage/record"
)

// A contender sits out one block in restsEvery, if the case has at least fewestDrawn entries
// other than the baseline and the floors.
const restsEvery, fewestDrawn = 4, 3

// company are the entries that take part in a block. The baseline and the floors always do. Which
// of the others sit out is drawn at random, so that a row does not always run beside the same rows.
// Nobody sits out in the first blocks, as a short run has no more, nor where two sides of one code
// are compared.
func (r *run) company(cs *runCase, block int) []Entry {
	after := block - 1 - goals[0].blocks
	turn, order := after%restsEvery, []int(nil)
	if after >= 0 && cs.drawn() {
		order = drawn(r.rec.Run.Seed, fmt.Sprintf("%s/company/%d", cs.name, after/restsEvery)).Perm(len(cs.entries))
	}
	var entries []Entry
	for i, e := range cs.entries {
		if r.rec.Row(e.Row()).OK() && (order == nil || !e.sitsOut() || order[i]%restsEvery != turn) {
			entries = append(entries, e)
		}
	}
	return entries
}

func (e *Entry) sitsOut() bool {
	return e.Role != record.RoleBaseline && e.Role != record.RoleFloor
}

// drawn reports whether entries of the case sit out blocks.
func (cs *runCase) drawn() bool {
	others := slices.DeleteFunc(slices.Clone(cs.entries), func(e Entry) bool { return !e.sitsOut() })
	return len(others) >= fewestDrawn && !slices.ContainsFunc(others, func(e Entry) bool { return e.Old })
}

// count counts a block for its rows. The case has as many blocks as its row with fewest.
func (r *run) count(cs *runCase, block *record.Block) {
	for i := range block.Series {
		cs.counts[block.Series[i].Row]++
	}
	live := r.live(cs)
	cs.turns.rows, cs.turns.blocks = len(live), 0
	for i, e := range live {
		if n := cs.counts[e.Row()]; i == 0 || n < cs.turns.blocks {
			cs.turns.blocks = n
		}
	}
}
