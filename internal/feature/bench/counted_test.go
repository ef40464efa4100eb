package bench

import (
	"testing"

	"postage/internal/verdict"
)

// executedOf is what processes executed, half of it in one function.
func executedOf(processes ...float64) *Executed {
	e := &Executed{Allocs: 1, Bytes: 64, Processes: processes}
	for _, n := range processes {
		e.Instructions += n / float64(len(processes))
	}
	e.Functions = map[string]float64{"hot": e.Instructions - 500, "other": 500}
	return e
}

// A side may execute 0.5% more, or what chance may make of it; counts of allocations are exact.
func TestCountedOutcomes(t *testing.T) {
	quiet := executedOf(1000, 1000.5, 999.5)
	more := *quiet
	more.Allocs = 2
	for name, of := range map[string]struct {
		old, new *Executed
		want     verdict.Outcome
		moved    bool
	}{
		"the same":             {quiet, executedOf(1000.4, 1000, 999.8), verdict.Passed, false},
		"0.4% more":            {quiet, executedOf(1004, 1004.5, 1003.5), verdict.Passed, false},
		"1% more":              {quiet, executedOf(1010, 1010.5, 1009.5), verdict.Regressed, true},
		"1% less":              {quiet, executedOf(990, 990.5, 989.5), verdict.Passed, true},
		"one allocation more":  {quiet, &more, verdict.Regressed, true},
		"1% more, in 2% noise": {executedOf(980, 1000, 1020), executedOf(990, 1010, 1030), verdict.Passed, false},
		"noise":                {executedOf(900, 1000, 1100), executedOf(900, 1000, 1100), verdict.Inconclusive, false},
	} {
		c := Counted{Old: of.old, New: of.new}
		c.Judge(CountThresholds())
		if c.Outcome != of.want || c.Moved() != of.moved || (c.Why == "") != (of.want == verdict.Passed) {
			t.Errorf("%s: %s, moved %t, %q: want %s, %t", name, c.Outcome, c.Moved(), c.Why, of.want, of.moved)
		}
		if name == "1% more" && (len(c.Functions) != 1 || c.Functions[0].Function != "hot" || c.Functions[0].New-c.Functions[0].Old != 10) {
			t.Errorf("it is in %+v", c.Functions)
		}
		run := CountedRun{Rows: []Counted{{Outcome: verdict.Passed}, c}}
		if run.Judge(); run.Outcome != of.want {
			t.Errorf("%s: a gate says otherwise", name)
		}
	}
	run := CountedRun{Rows: []Counted{{Outcome: verdict.Passed}, {Failed: "hang"}}}
	if run.Judge(); run.Outcome != verdict.Inconclusive {
		t.Error("what could not be counted passes")
	}
}
