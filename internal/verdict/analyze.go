package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"postage/internal/stats"
	"postage/record"
)

// Analysis is what a record says, case by case.
type Analysis struct {
	Cases    []*CaseResult
	Warnings []string
}

// CaseResult is the figures of a case.
type CaseResult struct {
	Name     string
	Record   *record.Record
	Blocks   int
	Baseline *Result
	Control  *Result
	// Rows are all its rows, the control included. The fastest is first, rows without figures are
	// last.
	Rows   []*Result
	blocks []*record.Block
}

// Result is the figures of a row. Without proof there are none: all pointers are nil.
type Result struct {
	Row    *record.Row
	Blocks int
	// NSOp is what an operation costs, in ns. Ratio, verdict and FloorRatio compare this quantity.
	// It is the CPU time of the whole process, or wall time where the row waits for a server.
	NSOp *Interval
	// WallOp is the wall time of an operation, the median over the blocks.
	WallOp *Interval
	// Ratio is the row's quantity as a multiple of the baseline's, nil for the baseline and
	// where the baseline failed.
	Ratio   *Interval
	Verdict Verdict
	// Wall is the ratio by wall time where the row waits, or works on several processors, more than
	// the baseline; else nil.
	Wall *Interval
	// FloorRatio is the row's quantity as a multiple of its floor's. The floor is the one that the
	// row names, else the case's fastest.
	FloorRatio *float64
	BytesOp    *int64
	AllocsOp   *int64
	// InstructionsOp are the instructions of the contender's process in user mode, nil where the
	// machine does not count them.
	InstructionsOp *Interval
	// Metrics are the row's other figures, by unit.
	Metrics map[string]float64
}

// Analyze computes the figures that follow from a record.
func Analyze(rec *record.Record) *Analysis {
	a := &Analysis{Warnings: slices.Clone(rec.Run.Warnings)}
	if older := olderInstrument(rec); older != "" {
		a.Warnings = append(a.Warnings, older)
	}
	for _, name := range rec.Cases() {
		c := AnalyzeCase(rec, name)
		a.Cases = append(a.Cases, c)
		if doubt := c.doubt(); doubt != "" {
			a.Warnings = append(a.Warnings, doubt)
		}
	}
	return a
}

// olderInstrument is a warning if an earlier instrument measured the record's costs, or another
// quantity that this one does not know.
func olderInstrument(rec *record.Record) string {
	for i := range rec.Rows {
		if r := &rec.Rows[i]; r.OK() && r.Instrument < record.Instrument && r.Value != record.ValueWall && r.Value != "" {
			return fmt.Sprintf("measured by instrument %d; now it is %d. Costs are sums of the batches that it kept, which are few, and any other quantity is wall time: measure again",
				r.Instrument, record.Instrument)
		}
	}
	return ""
}

// AnalyzeCase is Analyze of one case.
func AnalyzeCase(rec *record.Record, name string) *CaseResult {
	c := &CaseResult{Name: name, Record: rec, blocks: rec.BlocksOf(name)}
	c.Blocks = len(c.blocks)
	for i := range rec.Rows {
		row := &rec.Rows[i]
		if row.Case != name {
			continue
		}
		result := c.figures(row)
		c.Rows = append(c.Rows, result)
		switch row.Role {
		case record.RoleBaseline:
			c.Baseline = result
		case record.RoleControl:
			c.Control = result
		}
	}
	for _, result := range c.Rows {
		result.Verdict = Undecided
		switch {
		case result.NSOp == nil:
		case result == c.Baseline:
			result.Verdict = Same
		case c.Baseline != nil && c.Baseline.NSOp != nil:
			c.compare(result, Margin(rec.Run.Precision))
		}
	}
	c.floors()
	sort.SliceStable(c.Rows, func(i, j int) bool {
		a, b := c.Rows[i], c.Rows[j]
		if a.NSOp == nil || b.NSOp == nil {
			return a.NSOp != nil
		}
		return a.NSOp.Value < b.NSOp.Value
	})
	return c
}

// compare finds a row's ratio to the baseline and its verdict. It sets the row's figure to the
// baseline's times the ratio, so that the columns of a table agree.
func (c *CaseResult) compare(result *Result, margin float64) {
	p := c.pair(result.Row, c.Baseline.Row)
	values := p.values()
	ratio := Compare(values)
	result.Ratio, result.Verdict = &ratio, DecideBlocks(values, margin)
	if len(p.series) == 0 || math.IsNaN(ratio.Value) {
		return
	}
	result.NSOp = result.NSOp.to(c.Baseline.NSOp.Value * ratio.Value)
	if result.Row.Value != record.ValueCost {
		return
	}
	if waits := c.wallPerCPU(result.Row) / c.wallPerCPU(c.Baseline.Row); waits < 1/wallDiffers || waits > wallDiffers {
		result.Wall = new(Compare(p.walls()))
	}
}

// floors finds the rows' multiples of their floors.
func (c *CaseResult) floors() {
	var fastest *Result
	for _, r := range c.Rows {
		if r.Row.Role == record.RoleFloor && r.NSOp != nil && (fastest == nil || r.NSOp.Value < fastest.NSOp.Value) {
			fastest = r
		}
	}
	for _, r := range c.Rows {
		floor := fastest
		if r.Row.Floor != "" {
			floor = c.Of(r.Row.Floor)
		}
		if r.NSOp != nil && floor != nil && floor.NSOp != nil {
			r.FloorRatio = new(r.NSOp.Value / floor.NSOp.Value)
		}
	}
}

func (c *CaseResult) Stage() string { return c.Rows[0].Row.Stage }

// Ways are the contenders that a user can choose from: no floors, no control, no rows of another
// revision.
func (c *CaseResult) Ways() []*Result {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r *Result) bool {
		return r.Row.Role == record.RoleControl || r.Row.Role == record.RoleFloor || r.Row.OldOf != ""
	})
}

// Unmeasured is why no row of the case was measured. It is "" if a row was measured, or if the rows
// that are possible have different reasons.
func (c *CaseResult) Unmeasured() string {
	var why record.Proof
	for _, r := range c.Rows {
		switch proof := r.Row.Proof; {
		case proof.Is(record.ProofNotPossible):
		case !proof.Is(record.ProofNotMeasured), why != "" && proof != why:
			return ""
		default:
			why = proof
		}
	}
	return string(why)
}

// Reason says why a row has no figures.
func (r *Result) Reason() string {
	if r.Row.OK() {
		return string(record.ProofNotMeasured.Because("the run ended before its first block"))
	}
	return string(r.Row.Proof)
}

// Of returns the result of a contender, nil if the case does not have it.
func (c *CaseResult) Of(contender string) *Result {
	if i := slices.IndexFunc(c.Rows, func(r *Result) bool { return r.Row.Contender == contender }); i >= 0 {
		return c.Rows[i]
	}
	return nil
}

// Margin is what an interval must clear for a verdict (see Decide): the precision
// asked for, at most 1%.
func Margin(precision float64) float64 { return min(precision, 0.01) }

// figures are a row's figures, without a comparison.
func (c *CaseResult) figures(row *record.Row) *Result {
	result := &Result{Row: row}
	series := c.Record.SeriesOf(row)
	result.Blocks = len(series)
	if !row.OK() || len(series) == 0 {
		return result
	}
	each := func(figure func(*record.Series) float64) (values []float64) {
		for _, s := range series {
			values = append(values, figure(s))
		}
		return values
	}
	result.WallOp = located(each(func(s *record.Series) float64 { return stats.Median(s.NSPerOp(row.N)) }))
	result.NSOp = new(*result.WallOp)
	if row.Value == record.ValueCost {
		result.NSOp = new(Compare(each(func(s *record.Series) float64 { return math.Log(s.CostPerOp(row.N)) })))
	}
	result.BytesOp = wholeMedian(each(func(s *record.Series) float64 { return float64(s.BytesPerOp(row.N)) }))
	result.AllocsOp = wholeMedian(each(func(s *record.Series) float64 { return float64(s.AllocsPerOp(row.N)) }))
	result.Metrics = maps.Collect(maps.All(row.Metrics))
	if series[0].CPUNS != nil {
		result.Metrics[record.ClientCPU] = stats.Median(each(func(s *record.Series) float64 { return s.CostPerOp(row.N) }))
	}
	counters := map[string][]float64{}
	for _, s := range series {
		for unit, values := range s.Counters {
			counters[unit] = append(counters[unit], record.CounterPerOp(values, row.N))
		}
	}
	for unit, values := range counters {
		if unit == record.Instructions {
			result.InstructionsOp = located(values)
		} else {
			result.Metrics[unit] = stats.Median(values)
		}
	}
	result.latencies(series)
	return result
}

// latencies adds the percentiles of the row's latencies.
func (r *Result) latencies(series []*record.Series) {
	all, err := record.Latencies(series...)
	if err != nil || all == nil {
		return
	}
	for unit, percentile := range percentiles {
		r.Metrics[unit] = float64(all.ValueAtPercentile(percentile))
	}
}

// located estimates the location of the blocks' values, with its interval.
func located(values []float64) *Interval {
	s := stats.Paired(values, 0.05)
	if len(values) < stats.MinBlocks {
		return &Interval{s.Value, math.Inf(-1), math.Inf(1)}
	}
	return &Interval{s.Value, s.Low, s.High}
}

// percentiles are the metrics that come from a distribution of latencies.
var percentiles = map[string]float64{"p50-ns": 50, "p90-ns": 90, "p99-ns": 99, "p99.9-ns": 99.9, "max-ns": 100}

func wholeMedian(values []float64) *int64 { return new(int64(stats.Median(values))) }

// Widest is the half-width of the widest interval among the case's contenders and its
// control, 0 if it has no ratios because its baseline failed. Floors do not count.
func (c *CaseResult) Widest() float64 {
	half := 0.0
	for _, result := range c.Rows {
		if result.Ratio != nil && result.Row.Role != record.RoleFloor {
			half = max(half, result.Ratio.HalfWidth())
		}
	}
	return half
}

// doubt is a warning if the control, which is the baseline again, differs from the baseline.
func (c *CaseResult) doubt() string {
	if c.Control == nil || c.Control.Ratio == nil || c.Control.Ratio.Contains(1) {
		return ""
	}
	r := c.Control.Ratio
	return fmt.Sprintf("%s: the control, which is the baseline again, measured %.3f (%.3f to %.3f) of it: differences up to %.1f%% mean nothing here (one control in 20 does so by chance)",
		c.Name, r.Value, r.Low, r.High,
		100*max(math.Abs(math.Log(r.Low)), math.Abs(math.Log(r.High))))
}
