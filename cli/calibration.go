package cli

import (
	"slices"

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
		Stage       string         `json:"stage"`
		Comparisons int            `json:"comparisons"`
		FalseAlarms rateForm       `json:"false_alarms"`
		Misses      rateForm       `json:"interval_misses"`
		Slowdowns   []slowdownForm `json:"slowdowns"`
		// Smallest is the smallest slowdown found in 95%, nil if none was.
		Smallest  *float64 `json:"smallest_found"`
		Blocks    float64  `json:"median_blocks"`
		HalfWidth float64  `json:"median_half_width"`
		Needed    float64  `json:"needed"`
		// Gate is what a gate finds in the same batches.
		Gate gateForm `json:"gate"`
	}
	// gateForm is how often runs of equal code failed, how often their rows passed, and how often
	// rows with a known slowdown failed.
	gateForm struct {
		Failed    rateForm       `json:"equal_failed"`
		Passed    rateForm       `json:"equal_passed"`
		Slowdowns []slowdownForm `json:"slowdowns"`
	}
	// slowdownForm is how often a slowdown of a known size was called slower.
	slowdownForm struct {
		By    float64  `json:"by"`
		Found rateForm `json:"found"`
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

// calibrationOf counts the verdicts in a calibration's record. covered counts the intervals of
// slowed contenders that contain the slowdown.
func calibrationOf(stage string, rec *record.Record) (c *calibrationForm, covered rateForm) {
	c = &calibrationForm{Stage: stage}
	margin := verdict.Margin(rec.Run.Precision)
	falseAlarms, misses := 0, 0
	var blocks, widths, needed []float64
	slowed, found := make([]int, len(injectedSlowdowns)), make([]int, len(injectedSlowdowns))
	for _, result := range verdict.Analyze(rec).Cases {
		control := result.Control
		if control == nil || control.Ratio == nil || result.Blocks < stats.MinBlocks {
			continue
		}
		c.Comparisons++
		blocks, widths = append(blocks, float64(result.Blocks)), append(widths, control.Ratio.HalfWidth)
		needed = append(needed, control.Ratio.Needed(margin))
		if control.Verdict == verdict.Faster || control.Verdict == verdict.Slower {
			falseAlarms++
		}
		if !control.Ratio.Contains(1) {
			misses++
		}
		for i, by := range injectedSlowdowns {
			row := result.Of(slowedName(by))
			if row == nil || row.Ratio == nil {
				continue
			}
			slowed[i]++
			if row.Verdict == verdict.Slower {
				found[i]++
			}
			covered.Of++
			if row.Ratio.Contains(1 + by) {
				covered.Count++
			}
		}
	}
	c.FalseAlarms, c.Misses, covered = rate(falseAlarms, c.Comparisons), rate(misses, c.Comparisons), rate(covered.Count, covered.Of)
	c.Blocks, c.HalfWidth = stats.Median(blocks), stats.Median(widths)
	if slices.Sort(needed); len(needed) > 0 {
		c.Needed = needed[(95*len(needed)+99)/100-1]
	}
	c.Slowdowns = slowdowns(found, slowed)
	for _, s := range c.Slowdowns {
		if s.Found.Value >= 0.95 && c.Smallest == nil {
			c.Smallest = &s.By
		} else if s.Found.Value < 0.95 {
			c.Smallest = nil // a larger one must be found as well
		}
	}
	c.Gate = calibrationGate(rec, rowsOfAGate)
	return c, covered
}

// calibrationGate has the gate judge a calibration's record. It takes so many comparisons at a time
// as the rows of a run against old code: first with equal code on both sides, then, for each
// slowdown, with the slowed contenders as new code. Only the builds differ from a real gate: both
// sides are the same program.
func calibrationGate(rec *record.Record, rows int) gateForm {
	cases := slices.DeleteFunc(rec.Cases(), func(name string) bool { return len(rec.BlocksOf(name)) < stats.MinBlocks })
	runs, failed, equal, passed := 0, 0, 0, 0
	slowed, found := make([]int, len(injectedSlowdowns)), make([]int, len(injectedSlowdowns))
	for run := range slices.Chunk(cases, rows) {
		c := verdict.ComparePaired(sidesOf(rec, run, ""), verdict.DefaultThresholds())
		runs, equal = runs+1, equal+len(c.Rows)
		if c.Outcome() == verdict.Regressed {
			failed++
		}
		for _, change := range c.Rows {
			if change.Time == verdict.Passed {
				passed++
			}
		}
		for i, by := range injectedSlowdowns {
			for _, change := range verdict.ComparePaired(sidesOf(rec, run, slowedName(by)), verdict.DefaultThresholds()).Rows {
				if change.New.Row.Contender != slowedName(by) {
					continue
				}
				slowed[i]++
				if change.Time == verdict.Regressed {
					found[i]++
				}
			}
		}
	}
	return gateForm{Failed: rate(failed, runs), Passed: rate(passed, equal), Slowdowns: slowdowns(found, slowed)}
}

// slowdowns says how often each injected slowdown was found.
func slowdowns(found, of []int) []slowdownForm {
	all := []slowdownForm{}
	for i, by := range injectedSlowdowns {
		if of[i] > 0 {
			all = append(all, slowdownForm{By: by, Found: rate(found[i], of[i])})
		}
	}
	return all
}

// sidesOf turns some cases of a calibration's record into the record of a run against old code. The
// baseline is the old code. The new code is the contender slowed, or
// the control in cases without it.
func sidesOf(rec *record.Record, cases []string, slowed string) *record.Record {
	run := &record.Record{Run: rec.Run, Machine: rec.Machine}
	for _, name := range cases {
		for _, block := range rec.BlocksOf(name) {
			run.Blocks = append(run.Blocks, *block)
		}
		var old, now *record.Row
		for i := range rec.Rows {
			switch row := rec.Rows[i]; {
			case row.Case != name:
			case row.Role == record.RoleBaseline:
				old = &row
			case row.Contender == slowed, now == nil && row.Role == record.RoleControl:
				now = &row
			}
		}
		if old != nil && now != nil {
			old.OldOf = now.Name
			run.Rows = append(run.Rows, *old, *now)
		}
	}
	return run
}
