package bench_test

import (
	"strings"
	"testing"

	"postage/internal/feature/bench"
	"postage/internal/kit/report"
	"postage/internal/verdict"
)

// A table of counts says nothing of time, shows what moved and in which functions, and fits.
func TestCounts(t *testing.T) {
	side := func(n float64) *bench.Executed {
		return &bench.Executed{Instructions: n, Processes: []float64{n, n + 0.2, n - 0.2}, Functions: map[string]float64{"example.org/m.Work": n - 8, "other": 8}}
	}
	all := []bench.Counted{
		{Case: "Bench/pkg=m/Works", Old: side(4513), New: side(4558)},
		{Case: "Bench/pkg=m/Stays", Old: side(100.001), New: side(100)},
		{Case: "Bench/pkg=m/Fails", Failed: "it skips"},
	}
	for i := range all {
		if all[i].Failed == "" {
			all[i].Judge(bench.CountThresholds())
		}
	}
	const terminal = `benchmark  old instr/op  new instr/op  change    spread  may be  outcome
m Works           4,513         4,558  +1.00%  ±0.0044%   +0.5%  regressed
m Stays           100.0         100.0  +0.00%     ±0.2%  +0.65%  passed

m Works: in which functions
function            old instr/op  new instr/op
example.org/m.Work         4,505         4,550

not passed: m Works: instructions 4513.0 → 4558.0 an operation
not counted: m Fails: it skips
not counted: m New is new
warning: m: the old code runs the new tests
instructions that Valgrind counted, with GOMAXPROCS=1 and without the collector:
  they are not time
`
	for want, form := range map[string]report.Form{terminal: {}, "<!-- postage bench -->\n### Instructions: regressed\n": {Markdown: true}, "\"instructions_op\": 4558,": {JSON: true}} {
		var said strings.Builder
		run := bench.CountedRun{Rows: all, Notes: []string{"m New is new"}, Warnings: []string{"m: the old code runs the new tests"}}
		run.Judge()
		if err := bench.PrintCounts(&said, &run, form); err != nil {
			t.Fatal(err)
		}
		if got := said.String(); !strings.Contains(got, want) || strings.Contains(got, "ns/op") || !strings.Contains(got, "not time") {
			t.Errorf("%+v:\n%s\nwant\n%s", form, got, want)
		}
	}
}

// The sides are compared also where the first benchmark failed.
func TestCountsBehindAFailedOne(t *testing.T) {
	side := &bench.Executed{Instructions: 100, Processes: []float64{100, 100}}
	run := bench.CountedRun{Rows: []bench.Counted{{Case: "Bench/pkg=m/Fails", Failed: "it skips"}, {Case: "Bench/pkg=m/Stays", Old: side, New: side, Outcome: verdict.Passed}}}
	var said strings.Builder
	if err := bench.PrintCounts(&said, &run, report.Form{}); err != nil || !strings.Contains(said.String(), "old instr/op") || !strings.Contains(said.String(), "passed") {
		t.Errorf("%v:\n%s", err, said.String())
	}
}
