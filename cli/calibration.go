package cli

import (
	"slices"
	"strings"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/record"
)

// rowsOfAGate is how many comparisons of a calibration are the rows of one run of a gate.
const rowsOfAGate = 16

// What a calibration found, and how it is in JSON.
type (
	// calibrationForm is what `doctor --calibrate` found; nil where it was not asked to.
	calibrationForm struct {
		Stage       string  `json:"stage"`
		Comparisons int     `json:"comparisons"`
		HalfWidth   float64 `json:"median_half_width"`
		// Sizes has what was found of equal things, then of each slowdown.
		Sizes []sizeForm `json:"sizes"`
	}
	// sizeForm is how often things that differ by a known size, which may be 0, were called
	// different, had an interval that contains the size, failed a gate, and passed it.
	sizeForm struct {
		By        float64  `json:"by"`
		Different rateForm `json:"different"`
		Contained rateForm `json:"contained"`
		Regressed rateForm `json:"gate_regressed"`
		Passed    rateForm `json:"gate_passed"`
	}
	// rateForm is how often something happened, with its 95% interval.
	rateForm struct {
		Count int     `json:"count"`
		Of    int     `json:"of"`
		Value float64 `json:"value"`
		Low   float64 `json:"low"`
		High  float64 `json:"high"`
	}
)

// calibrationOf counts the verdicts in a calibration's record.
func calibrationOf(rec *record.Record) *calibrationForm {
	c := &calibrationForm{Stage: strings.Join(rec.Run.Patterns, " ")}
	var compared []*verdict.CaseResult
	var widths []float64
	for _, result := range verdict.Analyze(rec).Cases {
		if control := result.Control; control != nil && control.Ratio != nil && result.Blocks >= stats.MinBlocks {
			compared = append(compared, result)
			widths = append(widths, control.Ratio.HalfWidth())
		}
	}
	c.Comparisons, c.HalfWidth = len(compared), stats.Median(widths)
	for _, by := range append([]float64{0}, injectedSlowdowns...) {
		if size := sizeOf(rec, compared, by); size.Different.Of > 0 {
			c.Sizes = append(c.Sizes, size)
		}
	}
	return c
}

// sizeOf counts what was found of one size.
func sizeOf(rec *record.Record, compared []*verdict.CaseResult, by float64) sizeForm {
	var sized []*verdict.Result
	var gated []*verdict.Change
	for run := range slices.Chunk(compared, rowsOfAGate) {
		for _, result := range run {
			for _, r := range result.Rows {
				if differsBy(r.Row, by) && r.Ratio != nil {
					sized = append(sized, r)
				}
			}
		}
		for _, change := range verdict.ComparePaired(sidesOf(rec, run, by), verdict.DefaultThresholds()).Rows {
			if differsBy(change.New.Row, by) {
				gated = append(gated, change)
			}
		}
	}
	return sizeForm{
		By: by,
		Different: share(sized, func(r *verdict.Result) bool {
			return r.Verdict == verdict.Slower || r.Verdict == verdict.Faster && by == 0
		}),
		Contained: share(sized, func(r *verdict.Result) bool { return r.Ratio.Contains(1 + by) }),
		Regressed: share(gated, func(c *verdict.Change) bool { return c.Time == verdict.Regressed }),
		Passed:    share(gated, func(c *verdict.Change) bool { return c.Time == verdict.Passed }),
	}
}

// differsBy reports whether the row differs from its case's baseline by this size.
func differsBy(row *record.Row, by float64) bool {
	if by == 0 {
		return row.Role == record.RoleControl
	}
	return row.Contender == slowedName(by)
}

// sidesOf turns some comparisons of a calibration's record into the record of a run against old
// code. The baseline is the old code. The new code is the contender that differs by this size, or
// the control in cases without it. Only the builds differ from a real gate: both sides are the same
// program.
func sidesOf(rec *record.Record, compared []*verdict.CaseResult, by float64) *record.Record {
	run := &record.Record{Run: rec.Run, Machine: rec.Machine}
	for _, result := range compared {
		for _, block := range rec.BlocksOf(result.Name) {
			run.Blocks = append(run.Blocks, *block)
		}
		old, now := *result.Baseline.Row, *result.Control.Row
		for _, r := range result.Rows {
			if differsBy(r.Row, by) {
				now = *r.Row
			}
		}
		old.OldOf = now.Name
		run.Rows = append(run.Rows, old, now)
	}
	return run
}

// share counts the elements for which is returns true.
func share[T any](all []T, is func(T) bool) rateForm {
	k, n := 0, len(all)
	for _, one := range all {
		if is(one) {
			k++
		}
	}
	low, high := stats.ClopperPearson(k, n, 0.95)
	return rateForm{Count: k, Of: n, Value: float64(k) / float64(max(1, n)), Low: low, High: high}
}
