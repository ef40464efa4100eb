package claims

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"postage/internal/test/recordtest"
	"postage/lab"
	"postage/record"
	"postage/stage"
)

// Every row that a claim is about is one that can be measured, and what no stage can
// measure has no rows.
func TestRowsExist(t *testing.T) {
	rows, stages := map[string]bool{}, map[string]bool{}
	for _, suite := range stage.Suites() {
		stages[suite.Stage] = true
	}
	for _, e := range lab.Entries(stage.Suites()) {
		rows[e.Row()] = e.Contender.NotPossible == ""
	}
	all := All()
	if len(all) != 15 {
		t.Errorf("%d claims", len(all))
	}
	for i, c := range all {
		if c.Number != i+1 || c.Text == "" || c.Why == "" || c.Page == "" {
			t.Errorf("claim %d: %+v", i+1, c)
		}
		if stages[c.Stage] && len(c.Measures) == 0 {
			t.Errorf("claim %d: stage %s is there, and the claim has no rows", c.Number, c.Stage)
		}
		for _, m := range c.Measures {
			for _, row := range []string{m.Row, m.Base} {
				if !rows[row] {
					t.Errorf("claim %d: there is no row %s", c.Number, row)
				}
			}
		}
	}
	if _, err := lab.Select(stage.Suites(), Patterns(all)); err != nil {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	const a, b, c = "Encode/msg=0/op=encode/codec=a", "Encode/msg=0/op=encode/codec=b", "Encode/msg=1/op=encode/codec=b"
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 2, Blocks: 10}
	run := r.Record() // a takes 300 ns, b 500
	few := (&recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 2}).Record()
	for _, r := range []struct {
		name  string
		claim Claim
		run   *record.Record
		want  Verdict
	}{
		{"as published", Claim{Measures: []Measure{timed("", a, b, 0.6)}}, run, Holds},
		{"of two cases", Claim{Measures: []Measure{timed("", a, c, 0.6)}}, run, Holds},
		{"far off", Claim{Measures: []Measure{timed("", a, b, 0.2)}}, run, Differs},
		{"one of two off", Claim{Measures: []Measure{timed("", a, b, 0.6), timed("", a, b, 0.2)}}, run, Differs},
		{"artefact", Claim{Measures: []Measure{timed("", a, b, 0.6), implied(timed("", a, b, 0.2))}}, run, WasArtefact},
		{"no artefact: the page's way differs", Claim{Measures: []Measure{timed("", a, b, 0.2), implied(timed("", a, b, 0.6))}}, run, Differs},
		{"no artefact: both differ", Claim{Measures: []Measure{timed("", a, b, 0.2), implied(timed("", a, b, 0.2))}}, run, Differs},
		{"no artefact: the page's way is undecided", Claim{Measures: []Measure{timed("", a, b, 0.6/Tolerance), implied(timed("", a, b, 0.2))}}, run, Differs},
		{"holds, put right too", Claim{Measures: []Measure{timed("", a, b, 0.6), implied(timed("", a, b, 0.6))}}, run, Holds},
		{"at most", Claim{Measures: []Measure{atMost(timed("", a, b, 1))}}, run, Holds},
		{"a tenth above the most", Claim{Measures: []Measure{atMost(timed("", b, a, 1.5))}}, run, Differs}, // 5/3
		{"as much as the most", Claim{Measures: []Measure{atMost(timed("", b, a, 5.0/3))}}, run, Holds},
		{"the most is within the interval", Claim{Measures: []Measure{atMost(timed("", b, a, 5.0/3/NoMore))}}, run, Undecided},
		{"on the edge", Claim{Measures: []Measure{timed("", a, b, 0.6/Tolerance)}}, run, Undecided},
		{"few blocks", Claim{Measures: []Measure{timed("", a, b, 0.6)}}, few, Undecided},
		{"without rows", Claim{}, run, NotAvailable},
		{"not in the run", Claim{Measures: []Measure{timed("", a, "Encode/x", 1)}}, run, NotMeasured},
	} {
		if f := Check([]Claim{r.claim}, []*record.Record{r.run}).List[0]; f.Verdict != string(r.want) {
			t.Errorf("%s: %s, want %s: %+v", r.name, f.Verdict, r.want, f.Measures)
		}
	}
	// What is allocated is counted: d allocates 3 objects and 64 bytes, a and b 2 and 64.
	const d = "Encode/msg=0/op=encode/codec=d"
	none := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 1, Allocs: map[string]int64{a: -2, d: 1}}
	run = none.Record()
	for _, r := range []struct {
		name             string
		row, base        string
		of               Figure
		published, other float64
		want             Verdict
	}{
		{"none, as published", a, b, Allocs, 0, 100, Holds},
		{"none published, some here", d, b, Allocs, 0, 100, Differs},
		{"as published", d, b, Allocs, 150, 100, Holds},
		{"at the edge", d, b, Allocs, 120, 100, Holds},
		{"far off", d, b, Allocs, 300, 100, Differs},
		{"the base has none", b, a, Allocs, 1, 100, Differs},
		{"bytes", d, b, Bytes, 1, 1, Holds},
		{"bytes, far off", d, b, Bytes, 1, 5, Differs},
		{"no such row", d, c, Bytes, 1, 5, NotMeasured},
	} {
		claim := Claim{Measures: []Measure{allocated("", r.row, r.base, r.of, r.published, r.other)}}
		if f := Check([]Claim{claim}, []*record.Record{run}).List[0]; f.Verdict != string(r.want) || (f.Measures[0].Counts == nil) != (r.want == NotMeasured) {
			t.Errorf("%s: %s, want %s: %+v", r.name, f.Verdict, r.want, f.Measures)
		} else if (f.Measures[0].Here == nil) != (r.want == NotMeasured || r.base == a) { // a allocates nothing
			t.Errorf("%s: a ratio of %v", r.name, f.Measures[0].Here)
		}
	}
	fewer := Claim{Measures: []Measure{atMost(allocated("", d, b, Allocs, 140, 100))}}
	if f := Check([]Claim{fewer}, []*record.Record{run}).List[0]; f.Verdict != string(Differs) {
		t.Errorf("150 of at most 140 allocations: %s", f.Verdict)
	}
	// The first run that has the rows counts.
	f := Check([]Claim{{Measures: []Measure{timed("", c, a, 1)}}}, []*record.Record{few, r.Record()}).List[0]
	if f.Measures[0].Here == nil || math.Abs(f.Measures[0].Here.Value/(5.0/3)-1) > 0.05 {
		t.Errorf("%+v", f.Measures[0])
	}
	if got := Patterns([]Claim{{Measures: []Measure{timed("", a, b, 1), timed("", c, b, 1)}}}); !slices.Equal(got, []string{a, b, c}) {
		t.Errorf("patterns %v", got)
	}
}
