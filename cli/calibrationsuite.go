package cli

import (
	"context"
	"fmt"
	"math"

	"postage/lab"
)

// injectedSlowdowns are how much more work the slowed contenders of a calibration do: 0.01 is 1%.
var injectedSlowdowns = []float64{0.01, 0.02, 0.03, 0.05}

// calibrationStage is the stage of a calibration's rows.
const calibrationStage = "calibrate"

// calibrationSuite makes comparisons with a known result from a contender: each case has it
// as baseline, again as control (an A/A comparison), and slowed by each of injectedSlowdowns in
// turn. They are cases like all others and go through the same conductor.
func calibrationSuite(entry *lab.Entry, comparisons int) lab.Suite {
	suite := lab.Suite{Stage: calibrationStage}
	for i := range comparisons {
		by := injectedSlowdowns[i%len(injectedSlowdowns)]
		original, slowed := entry.Contender, entry.Contender
		original.Name, slowed.Name = "code=original", slowedName(by)
		slowed.Open = func(ctx context.Context, env lab.Env) (lab.Instance, error) {
			instance, err := entry.Contender.Open(ctx, env)
			return &slow{Instance: instance, by: by}, err
		}
		c := *entry.Case
		c.Name = fmt.Sprintf("Calibrate/comparison=%d", i+1)
		c.Baseline, c.Contenders = original.Name, []lab.Contender{original, slowed}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}

// slow does more operations than it is told to, with all that they allocate.
type slow struct {
	lab.Instance
	by   float64
	owed float64 // operations, less than one
}

// slowedName is the name of the contender that is slowed by so much.
func slowedName(by float64) string { return fmt.Sprintf("code=slowed/by=%g%%", 100*by) }

// Run runs the operations, and a fraction more.
func (s *slow) Run(n int) error {
	more, rest := math.Modf(s.owed + float64(n)*s.by)
	s.owed = rest
	return s.Instance.Run(n + int(more))
}

// Prepare is the contender's, if it has one.
func (s *slow) Prepare() error {
	if p, ok := s.Instance.(lab.Prepared); ok {
		return p.Prepare()
	}
	return nil
}

func (s *slow) MinOps() int {
	least := int(math.Ceil(1 / s.by)) // for one more
	if m, ok := s.Instance.(lab.Sized); ok {
		return max(least, m.MinOps())
	}
	return least
}
