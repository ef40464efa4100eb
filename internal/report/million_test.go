package report

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/internal/cost"
	"postage/record"
)

// The answer names what is cheapest, and what takes the least CPU time where that is another;
// nothing, where what there is now was not measured.
func TestAnswer(t *testing.T) {
	now := cost.Million{Contender: "codec=a", CPUSeconds: 61, Wire: 5.1e9, USD: 0.46}
	small := cost.Million{Contender: "codec=b", CPUSeconds: 20, Wire: 1e9, USD: 0.09}
	fast := cost.Million{Contender: "codec=c", CPUSeconds: 9, Wire: 3.4e9, USD: 0.31}
	large := cost.Million{Contender: "codec=d", CPUSeconds: 1, Wire: 6e9, USD: 0.5}
	for _, test := range []struct {
		list []cost.Million
		now  string
		want []string
	}{
		{[]cost.Million{small, fast, now}, "codec=a", []string{
			"By codec=a, with which the others are compared, a million messages cost $0.46.",
			"codec=b in place of codec=a saves 41 s of CPU time, 4.1 GB sent, and $0.37 a million messages.",
			"Least CPU time: codec=c in place of codec=a saves 52 s of CPU time, 1.7 GB sent, and $0.15 a million messages.",
		}},
		{[]cost.Million{now, large}, "codec=a", []string{
			"By codec=a, with which the others are compared, a million messages cost $0.46.",
			"Least CPU time: codec=d in place of codec=a saves 60 s of CPU time, but adds 0.9 GB sent and $0.04 a million messages.",
		}},
		{[]cost.Million{now}, "codec=a", []string{"By codec=a, with which the others are compared, a million messages cost $0.46.", "Nothing that was measured is cheaper."}},
		{[]cost.Million{small}, "codec=a", nil},
	} {
		if got := answer(test.list, test.now); !slices.Equal(got, test.want) {
			t.Errorf("%q", got)
		}
	}
}

// What a million messages cost stands first, in the terminal and on the page, where the stage says
// so, and nowhere else.
func TestMillionsComeFirst(t *testing.T) {
	rec, rng := sample(), rand.New(rand.NewPCG(7, 8))
	for _, op := range []string{"encode", "decode"} {
		addCase(rec, rng, "Mine/msg=span/op="+op, 10, spec{"codec=a", "baseline", "", 800, 2}, spec{"codec=b", "contender", "", 200, 0})
	}
	for i := range rec.Rows {
		rec.Rows[i].Metrics = map[string]float64{record.EncodedBytes: 100, "cpu-ns/op": 10}
	}
	of := func(row *record.Row) *cost.Operation {
		if record.KeysOf(row.Case).Get("op") != "encode" {
			return nil
		}
		return &cost.Operation{Message: "span", Messages: 1, Client: "encode", Bytes: []string{record.EncodedBytes}, Beside: &cost.Beside{Case: strings.Replace(row.Case, "op=encode", "op=decode", 1), Client: "decode"}}
	}
	for _, first := range []bool{true, false} {
		stages := []cost.Stage{{Name: "mine", Figures: cost.Figures{Message: "msg", PerMillion: first, Cost: &cost.Cost{Step: "codec", Of: of}}}}
		var text, page strings.Builder
		if err := Record(&text, rec, stages, Form{}); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, Contents{Runs: []NamedRun{{"run", rec}}, Stages: stages}); err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{text.String(), page.String()} {
			at, others := strings.Index(out, "Per million messages span, encode"), strings.Index(out, "codec=b in place of codec=a saves")
			if first && (others < 0 || at < others || at > strings.Index(out, "Mine/msg=span/op=encode")) || !first && at >= 0 {
				t.Errorf("first %v: at %d, what is saved at %d, of %d bytes", first, at, others, len(out))
			}
		}
	}
}
