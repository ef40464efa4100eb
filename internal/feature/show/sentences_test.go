package show

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// What a stage says of a case goes before everything else.
func TestSentences(t *testing.T) {
	told := []verdict.Stage{{Name: "store", Figures: verdict.Figures{
		Says: func(_ *record.Record, c *verdict.CaseResult) []string {
			return []string{"It costs 100 µs: write 60%, wait 40%.", "pgbulk saves 50% of " + c.Name + "."}
		},
	}}}
	rec := &record.Record{}
	for _, name := range []string{"Store/peer=sink", "Store/peer=postgres"} {
		addCase(rec, rand.New(rand.NewPCG(7, 8)), name, 10,
			spec{"lib=pgx", "baseline", "", 5e6, 1_600_000}, spec{"lib=control", "control", "", 5e6, 1_600_000}, spec{"lib=pgbulk", "contender", "", 2e6, 200_000})
	}
	var text, page strings.Builder
	if err := Record(&text, rec, told, report.Form{}); err != nil {
		t.Fatal(err)
	}
	const want = `It costs 100 µs: write 60%, wait 40%.
pgbulk saves 50% of Store/peer=sink.
It costs 100 µs: write 60%, wait 40%.
pgbulk saves 50% of Store/peer=postgres.

for  `
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("it begins\n%.400s\nwant\n%s", &text, want)
	}
	if err := HTML(&page, []NamedRun{{"run.txt", rec}}, told); err != nil {
		t.Fatal(err)
	}
	says := strings.Index(page.String(), "<p>pgbulk saves 50% of Store/peer=postgres.</p>")
	if other := strings.Index(page.String(), `id="answers"`); says < 0 || other < says {
		t.Errorf("the sentence is at %d of the page, and the answers are at %d", says, other)
	}
}
