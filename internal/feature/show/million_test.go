package show

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/internal/cost"
	"postage/internal/kit/report"
	"postage/record"
)

// It is said what a message costs now, and what the cheapest way saves.
func TestAnswer(t *testing.T) {
	now := cost.Million{Contender: "codec=a", CPUSeconds: 61, Wire: 5.1e9, USDMonth: 1209.4}
	for _, test := range []struct {
		best cost.Million
		want string
	}{
		{cost.Million{Contender: "codec=b", Wire: 1e9, USDMonth: 237}, "codec=b in place of it saves $972 a month and sends 4.1 GB less."},
		{cost.Million{Contender: "codec=c", Wire: 5.105e9, USDMonth: 1206.8}, "codec=c in place of it saves $2.6 a month, but sends 5 MB more."},
		{cost.Million{Contender: "codec=d", Wire: 5.1e9, USDMonth: 1209.35}, "codec=d in place of it saves $0.05 a month."},
		{now, "Nothing that was measured is cheaper."},
	} {
		want := []string{"A million messages m, encoded and decoded by codec=a, cost 61 s of CPU time: at 1,000 a second $1,209 a month, with a CPU hour at $0.04.", test.want}
		if got := millionText("m", []cost.Million{test.best, now}, now); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a million messages cost stands first: on a page, and in a terminal where the stage says so.
func TestMillionsComeFirst(t *testing.T) {
	rec, rng := sample(), rand.New(rand.NewPCG(7, 8))
	for _, op := range []string{"encode", "decode"} {
		addCase(rec, rng, "Mine/msg=span/op="+op, 10, spec{"codec=a", "baseline", "", 800, 2}, spec{"codec=b", "contender", "", 200, 0})
	}
	for i := range rec.Rows {
		rec.Rows[i].Metrics = map[string]float64{record.EncodedBytes: 100}
	}
	for _, first := range []bool{true, false} {
		mine := stages[0]
		mine.Name, mine.PerMillion = "mine", first
		var text, page strings.Builder
		if err := Record(&text, rec, []cost.Stage{mine}, report.Form{}); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, Contents{Runs: []NamedRun{{"run", rec}}, Stages: []cost.Stage{mine}}); err != nil {
			t.Fatal(err)
		}
		for out, want := range map[string]bool{text.String(): first, page.String(): true} {
			at := strings.Index(out, "codec=b in")
			if want && (at < 0 || at > strings.Index(out, "Mine/msg=span/op=encode")) || !want && at >= 0 {
				t.Errorf("first %v: at %d of\n%.600s", first, at, out)
			}
		}
	}
}
