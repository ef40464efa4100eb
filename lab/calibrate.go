package lab

import (
	"context"
	"fmt"
	"time"

	"postage/internal/sys/proc"
	"postage/record"
)

// InjectedSlowdowns are how much more work the slowed contenders of a calibration do: 0.01 is 1%.
var InjectedSlowdowns = []float64{0.01, 0.02, 0.03, 0.05}

// CalibrationStage is the stage of a calibration's rows.
const CalibrationStage = "calibrate"

// CalibrationSuite makes comparisons with a known result from a case's contender: each case has it
// as baseline, again as control (an A/A comparison), and slowed by each of InjectedSlowdowns in
// turn. They are cases like all others and go through the same conductor.
func CalibrationSuite(of *Case, c Contender, comparisons int) Suite {
	suite := Suite{Stage: CalibrationStage, Doc: "How often does the instrument call equal things different, and which slowdown does it find?"}
	for i := range comparisons {
		by := InjectedSlowdowns[i%len(InjectedSlowdowns)]
		original, slowed := c, c
		original.Name, slowed.Name = "code=original", SlowedName(by)
		original.Open, slowed.Open = slowedBy(of, c, 0), slowedBy(of, c, by)
		suite.Cases = append(suite.Cases, Case{
			Name:       fmt.Sprintf("Calibrate/comparison=%d", i+1),
			Doc:        "Known truth: the control is equal to the baseline, the slowed one does more.",
			Batch:      of.Batch,
			Service:    of.Service,
			Value:      of.Value,
			Baseline:   original.Name,
			Contenders: []Contender{original, slowed},
		})
	}
	return suite
}

// slowedBy opens the contender, slowed by a fraction of its CPU time, or of its wall time where the
// case compares that.
func slowedBy(of *Case, c Contender, by float64) func(context.Context, Env) (Instance, error) {
	return func(ctx context.Context, env Env) (Instance, error) {
		instance, err := c.Open(ctx, env)
		if err != nil || by == 0 {
			return instance, err
		}
		return slow{instance, by, of.Value == record.ValueWall}, nil
	}
}

// slow takes a fraction longer than what it does.
type slow struct {
	Instance
	by   float64
	wall bool
}

// SlowedName is the name of the contender that is slowed by so much.
func SlowedName(by float64) string { return fmt.Sprintf("code=slowed/by=%g%%", 100*by) }

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

// Prepare, Counters and MinOps are the contender's: it is slowed without losing them.
func (s slow) Prepare() error                        { return prepare(s.Instance) }
func (s slow) Counters() (map[string]float64, error) { return counters(s.Instance) }
func (s slow) MinOps() int                           { return leastOps(s.Instance) }
