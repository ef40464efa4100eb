package bench_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/feature/bench"
	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
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

// What is not measured is said once, with the reason alone.
func TestBenchNotMeasured(t *testing.T) {
	rec := (&recordtest.Run{Rand: rand.New(rand.NewPCG(1, 2)), Cases: 4, Blocks: 2}).Record()
	reasons := []record.Proof{record.ProofNotMeasured + "no time", record.ProofFailed + "no time", record.ProofNotPossible + "no time"}
	for i := range rec.Rows {
		for c, reason := range reasons {
			if strings.Contains(rec.Rows[i].Case, fmt.Sprintf("msg=%d", c)) {
				rec.Rows[i].Proof = reason
			}
		}
	}
	var said strings.Builder
	if err := bench.Print(&said, rec, nil, nil, report.Form{}); err != nil {
		t.Fatal(err)
	}
	for c := range reasons {
		want := fmt.Sprintf("not measured: Encode msg=%d/op=encode: no time\n", c)
		if !strings.Contains(said.String(), want) {
			t.Errorf("no line %q in:\n%s", want, said.String())
		}
	}
}
