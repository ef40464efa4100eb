package lab

import (
	"fmt"
	"math"
	"testing"
	"time"

	"postage/record"
)

// cased is a case of a baseline, its control, a floor and so many contenders, with a run to ask.
func cased(contenders int) (*run, *runCase) {
	c := &Case{Name: "Test/op=x", Baseline: "impl=base", Contenders: []Contender{{Name: "impl=base"}, {Name: "impl=floor", Floor: true}}}
	for i := range contenders {
		c.Contenders = append(c.Contenders, Contender{Name: fmt.Sprintf("impl=%d", i)})
	}
	cs := &runCase{name: c.Name, entries: c.entries("test"), rounds: 8, had: map[string]int{}, halfWidth: math.Inf(1)}
	r := &run{Conductor: &Conductor{}, rec: &record.Record{Run: record.Run{Seed: 3}}, cases: []*runCase{cs}}
	for i := range cs.entries {
		r.rec.Rows = append(r.rec.Rows, newRow(&cs.entries[i], record.ProofOK, nil))
	}
	return r, cs
}

// Each contender sits out one block of four after the first look, the baseline and the floor none,
// and who is beside whom differs from four blocks to the next. With one contender, or a side to
// take turns with, nothing is drawn.
func TestCompanyIsDrawn(t *testing.T) {
	r, cs := cased(5)
	had, companies := map[string]int{}, map[string]bool{}
	for block := 1; block <= looks[0]+4*restsEvery; block++ {
		names := ""
		for _, e := range r.company(cs, block) {
			had[e.Contender.Name]++
			names += e.Contender.Name + " "
		}
		companies[names] = true
		if after := block - looks[0]; after >= 0 && after%restsEvery == 0 {
			for _, e := range cs.entries {
				want := block
				if e.sitsOut() {
					want = looks[0] + after/restsEvery*(restsEvery-1)
				}
				if had[e.Contender.Name] != want {
					t.Errorf("after %d blocks %s had %d, want %d", block, e.Contender.Name, had[e.Contender.Name], want)
				}
			}
		}
	}
	if len(companies) < 8 {
		t.Errorf("%d companies in %d blocks", len(companies), looks[0]+4*restsEvery)
	}
	few, pair := cased(1)
	if got := len(few.company(pair, looks[0]+1)); got != len(pair.entries) {
		t.Errorf("one contender: %d of %d entries take part", got, len(pair.entries))
	}
	cs.entries[3].Old, cs.entries[3].Build = true, &Build{Name: "abc"}
	if cs.drawn() {
		t.Error("sides that take turns have their company drawn")
	}
}

// A case that was done in the first half of a run comes back at its end, when nothing else is left
// or the time that is left is just enough; one that was done later does not.
func TestDoneEarlyComesBack(t *testing.T) {
	r, cs := cased(1)
	now := time.Now()
	r.start, r.deadline = now.Add(-time.Minute), now.Add(time.Minute)
	cs.round, cs.fixed, cs.done = []time.Duration{10 * time.Millisecond}, []time.Duration{time.Second}, true
	cs.last = r.start.Add(20 * time.Second)
	if r.comesBack(false) != nil {
		t.Error("it comes back while there is time for others")
	}
	for i := range 3 {
		next := r.comesBack(true)
		if came := next != nil; came != (i < moreBlocks) {
			t.Errorf("block %d at the end: %t", i+1, came)
		}
		cs.last = now
	}
	cs.back, cs.last = 0, now.Add(-10*time.Second)
	if r.comesBack(true) != nil {
		t.Error("it was done in the second half, and comes back")
	}
	cs.last, r.deadline = r.start.Add(20*time.Second), now.Add(1500*time.Millisecond)
	if r.comesBack(false) == nil {
		t.Error("the time left is just enough, and it does not come back")
	}
}
