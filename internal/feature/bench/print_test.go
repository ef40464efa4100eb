package bench_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/feature/bench"
	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
	"postage/internal/verdict"
)

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
