package verdict_test

import (
	"fmt"
	"math/rand/v2"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
)

// What a run says of its rows.
func ExampleAnalyze() {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(1, 1)), Cases: 1, Blocks: 20}
	for _, c := range verdict.Analyze(run.Record()).Cases {
		for _, r := range c.Ways() {
			if r.Ratio != nil {
				fmt.Printf("%s takes %.1f times as long as %s: %s\n", r.Row.Contender, r.Ratio.Value, c.Baseline.Row.Contender, r.Verdict)
			}
		}
	}
	// Output:
	// codec=a takes 0.3 times as long as codec=base: faster
	// codec=b takes 0.5 times as long as codec=base: faster
	// codec=c takes 2.0 times as long as codec=base: slower
	// codec=d takes 9.0 times as long as codec=base: slower
}

// Two versions of the code that took turns in one run.
func ExampleComparePaired() {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(1, 2)), Cases: 1, Blocks: 20}
	rec := run.Record()
	recordtest.Against(rec, 1/1.1) // the old code took a tenth less
	changes := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	c := changes.Rows[0]
	fmt.Printf("%s: %.1f times the old time, %s\n", c.New.Row.Contender, c.Ratio.Value, c.Outcome)
	// Output:
	// codec=a: 1.1 times the old time, regressed
}
