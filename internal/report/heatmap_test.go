package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/cost"
	"postage/internal/verdict"
	"postage/record"
)

// A stage's map has a cell for each case, which links to it, and what the stage says of them all
// goes before everything else.
func TestMapOfCases(t *testing.T) {
	told := []cost.Stage{{Name: "send", Figures: cost.Figures{
		Together: func(cases []*verdict.CaseResult) cost.Story {
			return cost.Story{Sentences: []string{"Of " + cases[0].Name + " and " + cases[1].Name + "."}}
		},
		Map: func(c *verdict.CaseResult) *cost.Cell {
			k := record.KeysOf(c.Name)
			return &cost.Cell{Map: "Networks", Column: k.Get("rtt"), Row: k.Get("loss"), Text: "http3 " + k.Get("loss"), Hint: "sure", Ratio: map[string]float64{"2": 0.4}[k.Get("loss")]}
		},
	}}}
	rec := &record.Record{}
	for _, name := range []string{"Send/rtt=1/loss=0", "Send/rtt=1/loss=2", "Send/rtt=20/loss=2"} {
		addCase(rec, rand.New(rand.NewPCG(7, 8)), name, 10, spec{"proto=http2", "baseline", "", 5e6, 0}, spec{"proto=control", "control", "", 5e6, 0}, spec{"proto=http3", "contender", "", 2e6, 0})
	}
	var text, page strings.Builder
	if err := Record(&text, rec, told, Form{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "Of Send/rtt=1/loss=0 and Send/rtt=1/loss=2.\n") {
		t.Errorf("it begins\n%.200s", &text)
	}
	if err := HTML(&page, Contents{Runs: []NamedRun{{"run.txt", rec}}, Stages: told}); err != nil {
		t.Fatal(err)
	}
	for _, drawn := range []string{
		"<h3>Networks</h3>", `<th scope="col">20</th>`,
		`<tr><th>2</th><td class="hm2" title="sure"><a href="#`, `>http3 2</a></td><td class="hm2"`,
		`<tr><th>0</th><td class="h0" title="sure"><a href="#`, `>http3 0</a></td><td></td></tr>`,
	} {
		if !strings.Contains(page.String(), drawn) {
			t.Errorf("the page does not have %s", drawn)
		}
	}
}
