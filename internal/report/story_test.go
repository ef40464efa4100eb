package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/cost"
	"postage/internal/verdict"
	"postage/record"
)

// What a stage says of a case goes before everything else: in a terminal with the first bar, on a
// page with all.
func TestStory(t *testing.T) {
	told := []cost.Stage{{Name: "store", Figures: cost.Figures{Says: func(*record.Record, *verdict.CaseResult) cost.Story {
		return cost.Story{
			Sentences: []string{"It costs 100 µs: write 60%, wait 40%.", "pgbulk saves 50%."},
			Bars: []cost.Bar{
				{Name: "lib=pgx", Parts: []cost.BarPart{{Name: "write", Share: 0.595}, {Name: "wait", Share: 0.385}, {Name: "sleep", Share: 0.02}}},
				{Name: "lib=pgbulk", Parts: []cost.BarPart{{Share: 0.5}}},
			},
		}
	}}}}
	rec := &record.Record{}
	addCase(rec, rand.New(rand.NewPCG(7, 8)), "Store/peer=sink", 10,
		spec{"lib=pgx", "baseline", "", 5e6, 1_600_000}, spec{"lib=control", "control", "", 5e6, 1_600_000}, spec{"lib=pgbulk", "contender", "", 2e6, 200_000})
	var text strings.Builder
	if err := Record(&text, rec, told, Form{}); err != nil {
		t.Fatal(err)
	}
	const want = `It costs 100 µs: write 60%, wait 40%.
|write 60%                                     |wait 38%                     |s|
pgbulk saves 50%.

for              use     instead of  cost`
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("it begins\n%.400s\nwant\n%s", &text, want)
	}
	var page strings.Builder
	if err := HTML(&page, Contents{Runs: []NamedRun{{"run.txt", rec}}, Stages: told}); err != nil {
		t.Fatal(err)
	}
	story := strings.Index(page.String(), `<svg class="story"`)
	if other := strings.Index(page.String(), `id="answers"`); story < 0 || other < story {
		t.Errorf("the picture is at %d of the page, and the answers are at %d", story, other)
	}
	for _, drawn := range []string{`<rect class="k0" x="0.00" y="22" width="595.00"`, `<rect class="k" x="0.00" y="71.5" width="500.00"`, "<title>wait, 38.5%</title>"} {
		if !strings.Contains(page.String(), drawn) {
			t.Errorf("the page does not have %s", drawn)
		}
	}
}
