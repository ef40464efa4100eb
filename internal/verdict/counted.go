package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Counted is what was counted of a benchmark by an engine that executes its instructions one by
// one. It says nothing about time. Its JSON form is part of a stable interface.
type Counted struct {
	Case string    `json:"name"`
	Old  *Executed `json:"old"` // nil where there is one side
	New  *Executed `json:"new"` // nil where nothing was counted
	// Tolerance is by how much more a side may execute, as a fraction.
	Tolerance float64 `json:"tolerance"`
	Outcome   Outcome `json:"outcome"`
	Why       string  `json:"why"` // it regressed, or is inconclusive
	// Functions are those whose own instructions differ most, at most ten, and by more than a
	// quarter of the threshold.
	Functions []CountedFunction `json:"functions"`
	Warnings  []string          `json:"warnings"`
	Failed    string            `json:"failed"` // why nothing was counted
}

// Executed is what an operation executes and allocates.
type Executed struct {
	// Instructions are the mean of those of the processes.
	Instructions float64            `json:"instructions_op"`
	Allocs       float64            `json:"allocs_op"`
	Bytes        float64            `json:"bytes_op"`
	Processes    []float64          `json:"processes"`
	Functions    map[string]float64 `json:"-"`
}

// CountedFunction is what a function executes itself, an operation.
type CountedFunction struct {
	Function string  `json:"function"`
	Old      float64 `json:"old"`
	New      float64 `json:"new"`
}

const (
	// countLimit is by how much more a side may execute if no threshold says otherwise, and
	// countErrors how many standard errors of the difference where that is more: what a map's order
	// or a hash's seed changes from process to process is not the code's.
	countLimit  = 0.005
	countErrors = 4
	// mostFunctions is how many functions are listed.
	mostFunctions = 10
)

// CountThresholds are those of a gate of counts that is given none.
func CountThresholds() Thresholds { return Thresholds{Instructions: countLimit} }

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

// uncertain is by how much the counts of two sides may differ by chance, as a fraction; of one
// side, those of two like it.
func (c *Counted) uncertain() float64 {
	old := c.New
	if c.Old != nil {
		old = c.Old
	}
	square := func(e *Executed) float64 { return e.Spread() * e.Spread() / float64(len(e.Processes)) }
	return countErrors * math.Sqrt(square(old)+square(c.New))
}

// Sure says that the counts are known better than the threshold.
func (c *Counted) Sure(limits Thresholds) bool { return c.uncertain() <= limits.Instructions }

// Ratio is new/old.
func (c *Counted) Ratio() float64 { return c.New.Instructions / c.Old.Instructions }

// Judge sets the outcome, and which functions moved.
func (c *Counted) Judge(limits Thresholds) {
	if c.Old == nil {
		return
	}
	c.Tolerance, c.Outcome, c.Why = max(limits.Instructions, c.uncertain()), Passed, ""
	for _, of := range []struct {
		unit             string
		old, new, beyond float64
	}{
		{"instructions", c.Old.Instructions, c.New.Instructions, c.Tolerance},
		{"allocations", math.Floor(c.Old.Allocs), math.Floor(c.New.Allocs), limits.Allocs},
		{"bytes allocated", math.Floor(c.Old.Bytes), math.Floor(c.New.Bytes), max(limits.Bytes, c.Tolerance)},
	} {
		if of.new > of.old*(1+of.beyond) && c.Outcome == Passed {
			c.Outcome, c.Why = Regressed, fmt.Sprintf("%s %.1f → %.1f an operation", of.unit, of.old, of.new)
		}
	}
	if c.Outcome == Passed && c.Tolerance > mostSeen {
		c.Outcome, c.Why = Inconclusive, fmt.Sprintf("its counts differ by %.2g%% from process to process", 100*c.New.Spread())
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

// CountedRun is a run of counts: its record, and its JSON form, which is a stable interface.
type CountedRun struct {
	Version int     `json:"version"`
	What    string  `json:"what"`
	Outcome Outcome `json:"outcome"` // the worst of the rows': that of a gate
	// Arguments are the packages and flags that it was asked for, Vary what the sides differ in,
	// and Programs the SHA-256 of the programs of all sides.
	Arguments []string  `json:"arguments"`
	Vary      string    `json:"vary"`
	Programs  string    `json:"programs"`
	Rows      []Counted `json:"rows"`
	Notes     []string  `json:"notes"` // what was not counted, and why
	// Lost names what the new side cannot be counted of: a package that does not build there, or a
	// benchmark that fails there only.
	Lost []string `json:"lost,omitempty"`
}

// CountedVersion is that of the JSON form.
const CountedVersion = 1

// NotTime says what the figures are.
const NotTime = "instructions that Valgrind counted, with GOMAXPROCS=1 and without the collector: they are not time"

// Judge sets the outcome.
func (r *CountedRun) Judge() {
	r.Version, r.What, r.Outcome = CountedVersion, NotTime, Passed
	if len(r.Lost) > 0 {
		r.Outcome = Inconclusive
	}
	for i := range r.Rows {
		switch one := &r.Rows[i]; {
		case one.Outcome == Regressed:
			r.Outcome = Regressed
			return
		case one.Outcome == Inconclusive, one.Failed != "":
			r.Outcome = Inconclusive
		}
	}
}

// Moved says that the instructions differ beyond the tolerance, in either direction.
func (c *Counted) Moved() bool {
	return c.Old != nil && c.Failed == "" && math.Abs(c.Ratio()-1) > c.Tolerance || c.Outcome == Regressed
}
