package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/record"
)

// InjectedSlowdowns are the parts by which the slowed contenders of a calibration do more
// work than the baseline: 0.01 is 1%.
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
		original.Name, slowed.Name = "code=original", slowedName(by)
		original.Open, slowed.Open = slowedBy(c, 0), slowedBy(c, by)
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

// slowedBy opens the contender, slowed. Slowed by nothing, it still reads the clock for each piece
// of a batch, so that this is not a difference.
func slowedBy(c Contender, by float64) func(context.Context, Env) (Instance, error) {
	return func(ctx context.Context, env Env) (Instance, error) {
		instance, err := c.Open(ctx, env)
		if err != nil || by == 0 && cycle(instance) == 0 {
			return instance, err
		}
		return slow{instance, by}, nil
	}
}

// slow does a fraction more work than it is asked for.
type slow struct {
	Instance
	by float64
}

func slowedName(by float64) string { return fmt.Sprintf("code=slowed/by=%g%%", 100*by) }

// moreOperations is how many more than n come to the part within a tenth of it, 0 if none do.
func moreOperations(by float64, n int) int {
	if more := by * float64(n); more >= 5 {
		return int(more + 0.5)
	}
	return 0
}

// Run does more operations where that is possible and changes nothing in what is alike, else it
// keeps its processor for that part of the time that they took.
func (s slow) Run(n int) error {
	if more := moreOperations(s.by, n); more > 0 && cycle(s.Instance) == 0 {
		return s.Instance.Run(n + more)
	}
	start := time.Now()
	if err := s.Instance.Run(n); err != nil {
		return err
	}
	for end := time.Duration(float64(time.Since(start)) * (1 + s.by)); time.Since(start) < end; {
		nothing()
	}
	return nil
}

// Cycle is the contender's: each piece of its batches is slowed.
func (s slow) Cycle() int { return cycle(s.Instance) }

// Prepare, Counters and MinOps are the contender's: it may be slowed without losing them.
func (s slow) Prepare() error { return prepare(s.Instance) }

// Counters are the contender's, if it has any.
func (s slow) Counters() (map[string]float64, error) {
	if c, ok := s.Instance.(Counted); ok {
		return c.Counters()
	}
	return nil, nil
}

// MinOps is the contender's.
func (s slow) MinOps() int {
	if c, ok := s.Instance.(Sized); ok {
		return c.MinOps()
	}
	return 1
}

// Calibration is how often a record of a calibration suite came to the right verdict.
type Calibration struct {
	Comparisons int // that have an interval
	FalseAlarms int // of A/A comparisons called faster or slower
	Misses      int // intervals of A/A comparisons that do not cover 1
	// Slowed and Found are how many comparisons had a slowdown injected, and how many of
	// those were called slower, in the order of InjectedSlowdowns.
	Slowed, Found []int
	Covered       int // intervals of slowed ones that cover what they were slowed by
	Blocks        float64
	HalfWidth     float64 // median of the A/A comparisons'
	// Needed is the slowdown that 95% of the comparisons would have found: what each A/A interval
	// lacks to lie beyond the margin of its verdict; 0.02 is 2%.
	Needed float64
}

// GateCalibration is what a gate finds in the record of a calibration.
type GateCalibration struct {
	// Runs are those of equal code; of them Failed had a row that regressed. Of their Rows, so many
	// Passed.
	Runs, Failed, Rows, Passed int
	// Slowed and Regressed are rows of slower code, in the order of InjectedSlowdowns.
	Slowed, Regressed []int
}

// CalibrateGate has the gate judge the record of a calibration: so many comparisons at a time are
// the rows of a run against old code. First they are all equal, then those with one of
// InjectedSlowdowns have it, for each of these. All is as in a real gate but the builds: the same
// program is on both sides.
func CalibrateGate(rec *record.Record, rowsOfRun, layouts int) GateCalibration {
	g := GateCalibration{Slowed: make([]int, len(InjectedSlowdowns)), Regressed: make([]int, len(InjectedSlowdowns))}
	cases := slices.DeleteFunc(rec.Cases(), func(name string) bool { return len(rec.BlocksOf(name)) < looks[0] })
	for run := range slices.Chunk(cases, rowsOfRun) {
		failed := 0
		for _, change := range verdict.ComparePaired(gated(rec, run, "", layouts), verdict.DefaultThresholds()).Rows {
			g.Rows++
			switch change.Time {
			case verdict.Passed:
				g.Passed++
			case verdict.Regressed:
				failed = 1
			}
		}
		g.Runs, g.Failed = g.Runs+1, g.Failed+failed
		for i, by := range InjectedSlowdowns {
			for _, change := range verdict.ComparePaired(gated(rec, run, slowedName(by), layouts), verdict.DefaultThresholds()).Rows {
				if change.New.Row.Contender != slowedName(by) {
					continue
				}
				g.Slowed[i]++
				if change.Time == verdict.Regressed {
					g.Regressed[i]++
				}
			}
		}
	}
	return g
}

// gated is the part of a calibration's record with some cases, as the record of a run against old
// code: the baseline's. The new is the contender slowed where a case has it, else the control.
func gated(rec *record.Record, cases []string, slowed string, layouts int) *record.Record {
	run := &record.Record{Run: rec.Run, Machine: rec.Machine}
	for _, name := range cases {
		for _, block := range rec.BlocksOf(name) {
			drawn := *block
			drawn.Layout = layout(rec.Run.Seed, name, block.Number, layouts)
			run.Blocks = append(run.Blocks, drawn)
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

// Calibrate counts the verdicts in the record of a calibration.
func Calibrate(rec *record.Record) Calibration {
	c := Calibration{Slowed: make([]int, len(InjectedSlowdowns)), Found: make([]int, len(InjectedSlowdowns))}
	var blocks, widths, needed []float64
	margin := verdict.Margin(rec.Run.Precision)
	for _, result := range verdict.Analyze(rec).Cases {
		control := result.Control
		if control == nil || control.Ratio == nil || result.Blocks < looks[0] {
			continue
		}
		c.Comparisons++
		blocks = append(blocks, float64(result.Blocks))
		widths = append(widths, control.Ratio.HalfWidth)
		needed = append(needed, control.Ratio.Needed(margin))
		if control.Verdict == stats.Faster || control.Verdict == stats.Slower {
			c.FalseAlarms++
		}
		if !covers(control.Ratio, 1) {
			c.Misses++
		}
		for i, by := range InjectedSlowdowns {
			row := result.Of(slowedName(by))
			if row == nil || row.Ratio == nil {
				continue
			}
			c.Slowed[i]++
			if row.Verdict == stats.Slower {
				c.Found[i]++
			}
			truth := 1 + by*verdict.CodeShare(rec, row.Row)
			if more := moreOperations(by, row.Row.N); more > 0 && row.Row.Pieces == 0 {
				truth = 1 + float64(more)/float64(row.Row.N)
			}
			if covers(row.Ratio, truth) {
				c.Covered++
			}
		}
	}
	c.Blocks, c.HalfWidth = stats.Median(blocks), stats.Median(widths)
	if len(needed) > 0 {
		slices.Sort(needed)
		c.Needed = needed[(95*len(needed)+99)/100-1]
	}
	return c
}

func covers(interval *stats.Comparison, truth float64) bool {
	return interval.Low <= truth && truth <= interval.High
}
