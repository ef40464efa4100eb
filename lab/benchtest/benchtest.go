// Package benchtest runs a stage's cases under `go test -bench`, so that the
// standard tools print the very rows that Postage measures.
package benchtest

import (
	"context"
	"strings"
	"testing"

	"postage/lab"
)

// Run benchmarks every contender of the cases under the name that the record gives
// it. A contender is proven before it is timed; one that fails its proof fails its
// benchmark. Cases must all be of one stage, and b's name must be that stage's.
func Run(b *testing.B, cases []lab.Case) {
	for _, c := range cases {
		_, caseName, _ := strings.Cut(c.Name, "/")
		for _, contender := range c.Contenders {
			b.Run(caseName+"/"+contender.Name, func(b *testing.B) {
				if contender.NotPossible != "" {
					b.Skip("not possible: " + contender.NotPossible)
				}
				benchmark(b, contender)
			})
		}
	}
}

func benchmark(b *testing.B, contender lab.Contender) {
	ctx := context.Background()
	instance, err := contender.Open(ctx, lab.Env{Seed: 1})
	if err != nil {
		b.Fatalf("open: %v", err)
	}
	defer func() {
		if err := instance.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	}()
	if err := instance.Prove(ctx); err != nil {
		b.Fatalf("proof: %v", err)
	}
	if p, ok := instance.(lab.Prepared); ok {
		if err := p.Prepare(); err != nil {
			b.Fatalf("prepare: %v", err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := instance.Run(b.N); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if m, ok := instance.(lab.Metered); ok {
		for unit, value := range m.Metrics() {
			b.ReportMetric(value, unit)
		}
	}
}
