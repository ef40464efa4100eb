package cli

import (
	"context"
	"fmt"
	"time"

	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// injectedSlowdowns are how much more work the slowed contenders of a calibration do: 0.01 is 1%.
var injectedSlowdowns = []float64{0.01, 0.02, 0.03, 0.05}

// calibrationStage is the stage of a calibration's rows.
const calibrationStage = "calibrate"

// calibrationSuite makes comparisons with a known result from a contender: each case has it
// as baseline, again as control (an A/A comparison), and slowed by each of injectedSlowdowns in
// turn. They are cases like all others and go through the same conductor.
func calibrationSuite(of *lab.Entry, comparisons int) lab.Suite {
	suite := lab.Suite{Stage: calibrationStage, Doc: "How often does the instrument call equal things different, and which slowdown does it find?"}
	for i := range comparisons {
		by := injectedSlowdowns[i%len(injectedSlowdowns)]
		original, slowed := of.Contender, of.Contender
		original.Name, slowed.Name = "code=original", slowedName(by)
		original.Open, slowed.Open = slowedBy(of, 0), slowedBy(of, by)
		suite.Cases = append(suite.Cases, lab.Case{
			Name:       fmt.Sprintf("Calibrate/comparison=%d", i+1),
			Doc:        "Known truth: the control is equal to the baseline, the slowed one does more.",
			Batch:      of.Case.Batch,
			Service:    of.Case.Service,
			Value:      of.Case.Value,
			Baseline:   original.Name,
			Contenders: []lab.Contender{original, slowed},
		})
	}
	return suite
}

// slowedBy opens the contender, slowed by a fraction of its CPU time, or of its wall time where the
// case compares that.
func slowedBy(of *lab.Entry, by float64) func(context.Context, lab.Env) (lab.Instance, error) {
	return func(ctx context.Context, env lab.Env) (lab.Instance, error) {
		instance, err := of.Contender.Open(ctx, env)
		if err != nil || by == 0 {
			return instance, err
		}
		return slow{instance, by, of.Case.Value == record.ValueWall}, nil
	}
}

// slow takes a fraction longer than what it does.
type slow struct {
	lab.Instance
	by   float64
	wall bool
}

// slowedName is the name of the contender that is slowed by so much.
func slowedName(by float64) string { return fmt.Sprintf("code=slowed/by=%g%%", 100*by) }

// Run runs the operations, and then keeps its processor busy for a fraction of what they took.
func (s slow) Run(n int) error {
	begun, spent := time.Now(), func() time.Duration { d, _ := proc.CPU(); return d }
	if s.wall {
		spent = func() time.Duration { return time.Since(begun) }
	}
	start := spent()
	if err := s.Instance.Run(n); err != nil {
		return err
	}
	for end := start + time.Duration(float64(spent()-start)*(1+s.by)); spent() < end; {
	}
	return nil
}

// Prepare, Counters and MinOps are the contender's, if it has them.

func (s slow) Prepare() error {
	if p, ok := s.Instance.(lab.Prepared); ok {
		return p.Prepare()
	}
	return nil
}

func (s slow) Counters() (map[string]float64, error) {
	if c, ok := s.Instance.(lab.Counted); ok {
		return c.Counters()
	}
	return nil, nil
}

func (s slow) MinOps() int {
	if m, ok := s.Instance.(lab.Sized); ok {
		return m.MinOps()
	}
	return 1
}
