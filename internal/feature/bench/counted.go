package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"postage/internal/verdict"
)

// Counted is what an engine counted while it executed a benchmark's instructions one by one. It
// says nothing about time. Its JSON form is part of a stable interface.
type Counted struct {
	Case string    `json:"name"`
	Old  *Executed `json:"old"` // nil where there is one side
	New  *Executed `json:"new"` // nil where nothing was counted
	// Tolerance is how much more the new side may execute, as a fraction.
	Tolerance float64         `json:"tolerance"`
	Outcome   verdict.Outcome `json:"outcome"`
	Why       string          `json:"why"` // it regressed, or is inconclusive
	// Functions lists the functions that changed most, at most ten. Each changed by more than a
	// quarter of the threshold.
	Functions []CountedFunction `json:"functions"`
	Warnings  []string          `json:"warnings"`
	Failed    string            `json:"failed"` // why nothing was counted
}

// Executed is what an operation executes and allocates.
type Executed struct {
	// Instructions is the mean over the processes.
	Instructions float64            `json:"instructions_op"`
	Allocs       float64            `json:"allocs_op"`
	Bytes        float64            `json:"bytes_op"`
	Processes    []float64          `json:"processes"`
	Functions    map[string]float64 `json:"-"`
}

// CountedFunction is how many instructions an operation executes in one function, without those
// that it calls.
type CountedFunction struct {
	Function string  `json:"function"`
	Old      float64 `json:"old"`
	New      float64 `json:"new"`
}

const (
	// countLimit is how much more the new side may execute if the user sets no threshold. The limit
	// rises to countErrors standard errors of the difference, because the order of a map or the
	// seed of a hash changes the count from process to process.
	countLimit  = 0.005
	countErrors = 4
	// mostFunctions is how many functions are listed.
	mostFunctions = 10
)

// CountThresholds are the thresholds of bench --count if the user sets none.
func CountThresholds() verdict.Thresholds { return verdict.Thresholds{Instructions: countLimit} }

// Spread is the standard deviation of the processes' counts, as a fraction.
func (e *Executed) Spread() float64 {
	if len(e.Processes) < 2 || e.Instructions <= 0 {
		return 0
	}
	square := 0.0
	for _, n := range e.Processes {
		square += (n - e.Instructions) * (n - e.Instructions)
	}
	return math.Sqrt(square/float64(len(e.Processes)-1)) / e.Instructions
}

// uncertain is how much two sides may differ by chance, as a fraction. Where there is one side, it
// assumes a second with the same spread.
func (c *Counted) uncertain() float64 {
	old := c.New
	if c.Old != nil {
		old = c.Old
	}
	square := func(e *Executed) float64 { return e.Spread() * e.Spread() / float64(len(e.Processes)) }
	return countErrors * math.Sqrt(square(old)+square(c.New))
}

// Sure says that the counts are known better than the threshold.
func (c *Counted) Sure(limits verdict.Thresholds) bool { return c.uncertain() <= limits.Instructions }

// Ratio is new/old.
func (c *Counted) Ratio() float64 { return c.New.Instructions / c.Old.Instructions }

// Judge sets the outcome, and which functions moved.
func (c *Counted) Judge(limits verdict.Thresholds) {
	if c.Old == nil {
		return
	}
	c.Tolerance, c.Outcome, c.Why = max(limits.Instructions, c.uncertain()), verdict.Passed, ""
	for _, figure := range []struct {
		unit            string
		old, new, limit float64
	}{
		{"instructions", c.Old.Instructions, c.New.Instructions, c.Tolerance},
		{"allocations", math.Floor(c.Old.Allocs), math.Floor(c.New.Allocs), limits.Allocs},
		{"bytes allocated", math.Floor(c.Old.Bytes), math.Floor(c.New.Bytes), max(limits.Bytes, c.Tolerance)},
	} {
		if figure.new > figure.old*(1+figure.limit) && c.Outcome == verdict.Passed {
			c.Outcome = verdict.Regressed
			c.Why = fmt.Sprintf("%s %.1f → %.1f an operation", figure.unit, figure.old, figure.new)
		}
	}
	if c.Outcome == verdict.Passed && c.Tolerance > verdict.MostSeen {
		c.Outcome, c.Why = verdict.Inconclusive, fmt.Sprintf("its counts differ by %.2g%% from process to process", 100*c.New.Spread())
	}
	both := maps.Clone(c.Old.Functions)
	maps.Copy(both, c.New.Functions)
	moved := func(f CountedFunction) float64 { return math.Abs(f.New - f.Old) }
	for name := range both {
		f := CountedFunction{name, c.Old.Functions[name], c.New.Functions[name]}
		if moved(f) > c.Old.Instructions*limits.Instructions/4 {
			c.Functions = append(c.Functions, f)
		}
	}
	slices.SortFunc(c.Functions, func(a, b CountedFunction) int {
		return cmp.Or(cmp.Compare(moved(b), moved(a)), cmp.Compare(a.Function, b.Function))
	})
	c.Functions = c.Functions[:min(mostFunctions, len(c.Functions))]
}

// CountedRun is a run of counts. Its JSON form is a stable interface.
type CountedRun struct {
	Version  int             `json:"version"`
	What     string          `json:"what"`
	Outcome  verdict.Outcome `json:"outcome"` // the worst of the rows'
	Vary     string          `json:"vary"`    // what the sides differ in
	Rows     []Counted       `json:"rows"`
	Notes    []string        `json:"notes"`              // what was not counted, and why
	Warnings []string        `json:"warnings,omitempty"` // about packages
	// Lost names the packages and benchmarks that fail on the new side only.
	Lost []string `json:"lost,omitempty"`
	// Late is how many benchmarks there was no time for.
	Late int `json:"late,omitempty"`
}

// CountedVersion is the version of the JSON form.
const CountedVersion = 1

const notTime = "instructions that Valgrind counted, with GOMAXPROCS=1 and without the collector: they are not time"

// Judge sets the outcome from the rows.
func (r *CountedRun) Judge() {
	r.Version, r.What, r.Outcome = CountedVersion, notTime, verdict.Passed
	if len(r.Lost) > 0 || r.Late > 0 {
		r.Outcome = verdict.Inconclusive
	}
	for i := range r.Rows {
		switch one := &r.Rows[i]; {
		case one.Outcome == verdict.Regressed:
			r.Outcome = verdict.Regressed
			return
		case one.Outcome == verdict.Inconclusive, one.Failed != "":
			r.Outcome = verdict.Inconclusive
		}
	}
}

// Moved reports whether the instructions differ beyond the tolerance, in either direction.
func (c *Counted) Moved() bool {
	return c.Old != nil && c.Failed == "" && math.Abs(c.Ratio()-1) > c.Tolerance || c.Outcome == verdict.Regressed
}
