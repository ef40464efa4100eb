package claims

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"postage/lab"
	"postage/lab/recordtest"
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
		{"as published", Claim{Measures: []Measure{{"", a, b, 0.6, false}}}, run, Holds},
		{"of two cases", Claim{Measures: []Measure{{"", a, c, 0.6, false}}}, run, Holds},
		{"far off", Claim{Measures: []Measure{{"", a, b, 0.2, false}}}, run, Differs},
		{"one of two off", Claim{Measures: []Measure{{"", a, b, 0.6, false}, {"", a, b, 0.2, false}}}, run, Differs},
		{"artefact", Claim{Artefact: true, Measures: []Measure{{"", a, b, 0.2, false}}}, run, WasArtefact},
		{"at most", Claim{Measures: []Measure{{"", a, b, 1, true}}}, run, Holds},
		{"on the edge", Claim{Measures: []Measure{{"", a, b, 0.6 / Tolerance, false}}}, run, Undecided},
		{"few blocks", Claim{Measures: []Measure{{"", a, b, 0.6, false}}}, few, Undecided},
		{"without rows", Claim{}, run, NotAvailable},
		{"not in the run", Claim{Measures: []Measure{{"", a, "Encode/x", 1, false}}}, run, NotMeasured},
	} {
		if f := Check([]Claim{r.claim}, []*record.Record{r.run})[0]; f.Verdict != r.want {
			t.Errorf("%s: %s, want %s: %+v", r.name, f.Verdict, r.want, f.Results)
		}
	}
	// The first run that has the rows counts.
	f := Check([]Claim{{Measures: []Measure{{"", c, a, 1, false}}}}, []*record.Record{few, run})[0]
	if f.Results[0].Here == nil || math.Abs(f.Results[0].Here.Value/(5.0/3)-1) > 0.05 {
		t.Errorf("%+v", f.Results[0])
	}
	if got := Patterns([]Claim{{Measures: []Measure{{"", a, b, 1, false}, {"", c, b, 1, false}}}}); !slices.Equal(got, []string{a, b, c}) {
		t.Errorf("patterns %v", got)
	}
}
