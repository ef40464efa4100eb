package lab

import (
	"fmt"
	"testing"

	"postage/record"
)

// cased is a case of a baseline, its control, a floor and so many contenders, with a run to ask.
func cased(contenders int) (*run, *runCase) {
	c := &Case{Name: "Test/op=x", Baseline: "impl=base", Contenders: []Contender{{Name: "impl=base"}, {Name: "impl=floor", Floor: true}}}
	for i := range contenders {
		c.Contenders = append(c.Contenders, Contender{Name: fmt.Sprintf("impl=%d", i)})
	}
	cs := &runCase{name: c.Name, entries: c.entries("test"), counts: map[string]int{}}
	r := &run{conductor: &Conductor{}, rec: &record.Record{Run: record.Run{Seed: 3}}}
	for i := range cs.entries {
		r.rec.Rows = append(r.rec.Rows, newRow(&cs.entries[i], record.ProofOK, nil))
	}
	return r, cs
}

// Each contender sits out one block of four after the blocks of the first goal, the baseline and
// the floor none, and who is beside whom differs from four blocks to the next. With one contender,
// or a side to take turns with, nothing is drawn.
func TestCompanyIsDrawn(t *testing.T) {
	r, cs := cased(5)
	had, companies := map[string]int{}, map[string]bool{}
	for block := 1; block <= goals[0].blocks+4*restsEvery; block++ {
		names := ""
		for _, e := range r.company(cs, block) {
			had[e.Contender.Name]++
			names += e.Contender.Name + " "
		}
		companies[names] = true
		if after := block - goals[0].blocks; after >= 0 && after%restsEvery == 0 {
			for _, e := range cs.entries {
				want := block
				if e.sitsOut() {
					want = goals[0].blocks + after/restsEvery*(restsEvery-1)
				}
				if had[e.Contender.Name] != want {
					t.Errorf("after %d blocks %s had %d, want %d", block, e.Contender.Name, had[e.Contender.Name], want)
				}
			}
		}
	}
	if len(companies) < 8 {
		t.Errorf("%d companies in %d blocks", len(companies), goals[0].blocks+4*restsEvery)
	}
	few, pair := cased(1)
	if got := len(few.company(pair, goals[0].blocks+1)); got != len(pair.entries) {
		t.Errorf("one contender: %d of %d entries take part", got, len(pair.entries))
	}
	cs.entries[3].Old, cs.entries[3].Build = true, &Build{Name: "abc"}
	if cs.drawn() {
		t.Error("sides that take turns have their company drawn")
	}
}
