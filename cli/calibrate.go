package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/stats"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// enoughComparisons without a false alarm show that at most 1% are false alarms: 0.99^368 is 2.5%.
const enoughComparisons = 368

// comparisonBudget is the default time for a comparison. A case of `postage run` may get as much of
// the default budget.
const comparisonBudget = 6 * time.Second

// calibrationPrecision is so narrow that a calibration uses its whole budget.
const calibrationPrecision = 0.005

// calibrated finds the baseline that a calibration of the stage compares with itself: the first
// headline case's, or else the first case's. For "" it prefers a stage that needs no server,
// because a server's time varies more than the machine's. It is nil if there is no such stage.
func (p program) calibrated(stage string) (baseline *lab.Entry) {
	best := -1
	for _, e := range lab.Entries(p.suites) {
		if stage != "" && e.Stage != stage || e.Role != record.RoleBaseline || e.Contender.NotPossible != "" {
			continue
		}
		rank := 0
		if stage == "" && e.Case.Service == nil && e.Case.Value != record.ValueWall {
			rank += 2
		}
		if e.Case.Headline {
			rank++
		}
		if rank > best {
			best, baseline = rank, &e
		}
	}
	return baseline
}

func (p program) newCalibration(cmd *cobra.Command, stage string, comparisons int, budget time.Duration, asJSON bool) error {
	baseline := p.calibrated(stage)
	if baseline == nil {
		return hinted(fmt.Errorf("--stage %s: there is no such stage", stage), "`postage list` shows them")
	}
	entries := lab.Entries([]lab.Suite{calibrationSuite(baseline, comparisons)})
	worker, err := proc.Self("worker", "--comparisons", strconv.Itoa(comparisons), "--stage", stage)
	if err != nil {
		return err
	}
	// Blocks are as long as a gate's, whose layouts these are, though all are the same program.
	build := &lab.Build{Commands: slices.Repeat([][]string{worker}, layoutsOfAGate), Modules: lab.Modules()}
	for i := range entries {
		entries[i].Build = build
	}
	budget = cmp.Or(budget, time.Duration(comparisons)*comparisonBudget)
	plan := lab.NewPlan(entries, budget)
	rec, out, err := newRun(plan, record.Run{
		Patterns: []string{baseline.Stage}, Seed: record.DefaultSeed, Precision: calibrationPrecision,
		Budget: budget, Commit: commit(),
	}, "", "calibration-")
	if err != nil {
		return err
	}
	say(cmd, "%s with itself and with itself slowed: the budget of %v has room for %d of %d comparisons", baseline.Row(), budget, len(plan.Entries)/3, comparisons)
	// One that is interrupted prints what the finished comparisons found.
	interrupted := conduct(cmd, lab.Conductor{}, plan.All(), rec, out)
	if interrupted != nil && !errors.Is(interrupted, lab.ErrInterrupted) {
		return interrupted
	}
	say(cmd, "record saved as %s", out)
	return errors.Join(interrupted, printCalibration(cmd, rec, out, asJSON))
}

// printCalibration prints what the calibration in a record found.
func printCalibration(cmd *cobra.Command, rec *record.Record, name string, asJSON bool) error {
	c := calibrationOf(rec)
	if c.Comparisons == 0 || rec.Rows[0].Stage != calibrationStage {
		return fmt.Errorf("%s: holds no comparison of a calibration with the %d blocks that an interval takes; `postage show %s` says what it holds", name, stats.MinBlocks, name)
	}
	if asJSON {
		return doctorJSON(cmd.OutOrStdout(), &rec.Machine, c)
	}
	w := cmd.OutOrStdout()
	each := (rec.Run.Budget / time.Duration(len(rec.Cases()))).Round(time.Second / 10)
	fmt.Fprintf(w, "%s on this machine: %d of %d comparisons, %v each, interval ±%.2f%% (median), duty %.0f%%\n\n",
		c.Stage, c.Comparisons, len(rec.Cases()), each, 100*c.HalfWidth, 100*rec.Duty())
	fmt.Fprintf(w, "%-9s%17s%17s%17s%17s\n", "", "called different", "interval holds", "gate regressed", "gate passed")
	for _, s := range c.Sizes {
		fmt.Fprintf(w, "%g%% slower", 100*s.By)
		for _, r := range []rateForm{s.Different, s.Contained, s.Regressed, s.Passed} {
			fmt.Fprintf(w, "%17s", fmt.Sprintf("%.0f%% (%.0f–%.0f)", 100*r.Value, 100*r.Low, 100*r.High))
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "\nin brackets: 95%% intervals of the shares; the gate has %d rows a run, and both sides are one build\n", rowsOfAGate)
	return err
}
