package lab

import (
	"context"
	"fmt"

	"postage/record"
	"postage/stats"
	"postage/verdict"
)

// injectedSlowdown is the part by which the slowed contender of a calibration does
// more work than the baseline: every 20 operations it does one more.
const injectedSlowdown = 1.0 / 20

// CalibrationSuite makes comparisons whose truth is known of any contender: each case
// holds it as baseline, again as control (an A/A comparison), and once more doing 5%
// more work. They are cases like all others and go through the same conductor.
func CalibrationSuite(c Contender, comparisons int) Suite {
	suite := Suite{Stage: "calibrate", Doc: "How often does the instrument call equal things different, and find a 5% difference?"}
	original, slowed := c, c
	original.Name, slowed.Name = "code=original", "code=slowed"
	slowed.Open = func(ctx context.Context, env Env) (Instance, error) {
		instance, err := c.Open(ctx, env)
		if err != nil {
			return nil, err
		}
		return slow{instance}, nil
	}
	for i := range comparisons {
		suite.Cases = append(suite.Cases, Case{
			Name:       fmt.Sprintf("Calibrate/comparison=%d", i+1),
			Doc:        "Known truth: the control is equal to the baseline, the slowed one does 5% more.",
			Baseline:   original.Name,
			Contenders: []Contender{original, slowed},
		})
	}
	return suite
}

// slow does 5% more operations than it is asked for.
type slow struct{ Instance }

func (s slow) Run(n int) error { return s.Instance.Run(n + int(float64(n)*injectedSlowdown+0.5)) }

// Calibration is how often a record of a calibration suite came to the right verdict.
type Calibration struct {
	Comparisons int // that have an interval
	FalseAlarms int // of A/A comparisons called faster or slower
	Misses      int // intervals of A/A comparisons that do not cover 1
	Found       int // injected slowdowns called slower
	Blocks      float64
	HalfWidth   float64 // median of the A/A comparisons'
}

// Calibrate counts the verdicts in the record of a calibration.
func Calibrate(rec *record.Record) Calibration {
	var c Calibration
	var blocks, widths []float64
	for _, result := range verdict.Analyze(rec).Cases {
		control := result.Control
		if control == nil || control.Ratio == nil || result.Blocks < looks[0] {
			continue
		}
		c.Comparisons++
		blocks = append(blocks, float64(result.Blocks))
		widths = append(widths, control.Ratio.HalfWidth)
		if control.Verdict == stats.Faster || control.Verdict == stats.Slower {
			c.FalseAlarms++
		}
		if control.Ratio.Low > 1 || control.Ratio.High < 1 {
			c.Misses++
		}
		for _, row := range result.Rows {
			if row.Row.Role == record.RoleContender && row.Verdict == stats.Slower {
				c.Found++
			}
		}
	}
	c.Blocks, c.HalfWidth = stats.Median(blocks), stats.Median(widths)
	return c
}
