package bench_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/feature/bench"
	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// Instructions have a column where they are counted. Fewer than one in a thousand more are not a
// change.
func TestBenchInstructions(t *testing.T) {
	for more, want := range map[float64]string{0: "", 1.0005: " 500", 1.04: "500.0 → 520.0"} {
		rec := (&recordtest.Run{Rand: rand.New(rand.NewPCG(1, 2)), Cases: 1, Blocks: 12}).Record()
		recordtest.Against(rec, 1)
		for i := range rec.Blocks {
			for j := range rec.Blocks[i].Series {
				s := &rec.Blocks[i].Series[j]
				per := 500 * float64(rec.Row(s.Row).N)
				if rec.Row(s.Row).OldOf == "" {
					per *= more
				}
				for range s.WallNS {
					if more > 0 {
						s.Counters = map[string][]float64{record.Instructions: append(s.Counters[record.Instructions], per)}
					}
				}
			}
		}
		var said strings.Builder
		if err := bench.Print(&said, rec, verdict.ComparePaired(rec, verdict.DefaultThresholds()), nil, report.Form{Wide: true}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(said.String(), record.Instructions) != (more > 0) || !strings.Contains(said.String(), want) || strings.Contains(said.String(), "→") != (more > 1.001) {
			t.Errorf("%v times as many instructions:\n%s", more, said.String())
		}
	}
}

// A ratio without an interval says nothing: it has no figure, and no part in the mean.
func TestBenchWithoutInterval(t *testing.T) {
	rec := (&recordtest.Run{Rand: rand.New(rand.NewPCG(1, 2)), Cases: 1, Blocks: 1}).Record()
	recordtest.Against(rec, 1)
	var said strings.Builder
	if err := bench.Print(&said, rec, verdict.ComparePaired(rec, verdict.DefaultThresholds()), nil, report.Form{}); err != nil {
		t.Fatal(err)
	}
	if text := said.String(); !strings.Contains(text, "  no interval  ") || strings.Contains(text, "geometric mean") {
		t.Errorf("one block:\n%s", text)
	}
}
