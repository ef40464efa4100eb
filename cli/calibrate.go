package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/stats"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// enoughComparisons without a false alarm show that at most 1% are false alarms: 0.99^368 is 2.5%.
const enoughComparisons = 368

// comparisonBudget is the least time for a comparison. A case of `postage run` may get as much of
// the default budget.
const comparisonBudget = 6 * time.Second

// calibrationPrecision is so narrow that a calibration uses its whole budget.
const calibrationPrecision = 0.005

// calibrated finds the baseline that a calibration of the stage compares with itself: the first
// headline case's, or else the first case's. For "" it prefers a stage that needs no server,
// because a server's time varies more than the machine's. It is nil if there is no such stage.
func (p program) calibrated(stage string) (baseline *lab.Entry) {
	best := -1
	for i, suite := range p.suites {
		if stage != "" && suite.Stage != stage {
			continue
		}
		for _, e := range lab.Entries(p.suites[i : i+1]) {
			if e.Role != record.RoleBaseline || e.Contender.NotPossible != "" {
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
	}
	return baseline
}

// calibrationPattern begins the pattern in a calibration's record; the stage follows.
const calibrationPattern = "doctor --calibrate --stage "

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
	plan := lab.NewPlan(entries, budget)
	if budget == 0 { // as much as a comparison takes: a stage's batches may be long
		for each := comparisonBudget; budget == 0 || len(plan.Left) > 0; each *= 2 {
			budget = time.Duration(comparisons) * each
			plan = lab.NewPlan(entries, budget)
		}
	}
	rec, out, err := newRun(plan, record.Run{
		Patterns: []string{calibrationPattern + baseline.Stage}, Seed: record.DefaultSeed, Precision: calibrationPrecision,
		Budget: budget, Commit: commit(),
	}, "", "calibration-")
	if err != nil {
		return err
	}
	if left := len(plan.Left); left > 0 {
		say(cmd, "%v leave no time for the blocks of %d of the comparisons", budget, left/3)
	}
	say(cmd, "%d comparisons of %s with itself and with itself slowed, about %v", comparisons, baseline.Row(), budget)
	return p.calibrate(cmd, plan.All(), rec, out, asJSON)
}

// ofCalibration is an error if a record is of something else.
func ofCalibration(rec *record.Record, name string) error {
	if len(rec.Rows) == 0 || rec.Rows[0].Stage != calibrationStage {
		return hinted(fmt.Errorf("%s is not a record of a calibration", name), "`postage show "+name+"` says what it is of")
	}
	return nil
}

// calibratedStage is the stage that the record is a calibration of, "" for the first.
func calibratedStage(rec *record.Record) string {
	_, stage, _ := strings.Cut(strings.Join(rec.Run.Patterns, " "), calibrationPattern)
	return stage
}

// calibrate measures and prints what was found. If it is interrupted, it prints what the finished
// comparisons found.
func (p program) calibrate(cmd *cobra.Command, entries []lab.Entry, rec *record.Record, out string, asJSON bool) error {
	stage := calibratedStage(rec)
	interrupted := conduct(cmd, lab.Conductor{}, entries, rec, out, "--comparisons", strconv.Itoa(len(rec.Cases())), "--stage", stage)
	if interrupted != nil && !errors.Is(interrupted, lab.ErrInterrupted) {
		return interrupted
	}
	say(cmd, "record saved as %s", out)
	return errors.Join(interrupted, printCalibration(cmd, rec, out, asJSON))
}

// printCalibration prints what the calibration in a record found.
func printCalibration(cmd *cobra.Command, rec *record.Record, name string, asJSON bool) error {
	c, covered := calibrationOf(cmp.Or(calibratedStage(rec), "first stage"), rec)
	if c.Comparisons == 0 {
		return fmt.Errorf("%s: holds no comparison of a calibration with the %d blocks that an interval takes; `postage show %s` says what it holds", name, stats.MinBlocks, name)
	}
	w := cmd.OutOrStdout()
	if asJSON {
		return doctorJSON(w, &rec.Machine, c)
	}
	contains := rate(c.Comparisons-c.Misses.Count, c.Comparisons)
	fmt.Fprintf(w, "comparisons                      %d of %d, %g blocks each (median), interval ±%.2f%% (median), duty %.0f%%\n",
		c.Comparisons, len(rec.Cases()), c.Blocks, 100*c.HalfWidth, 100*lab.Duty(rec))
	fmt.Fprintf(w, "equal things called different    %s\n", rateText(c.FalseAlarms))
	fmt.Fprintf(w, "their interval contains 1        %s\n", rateText(contains))
	for _, s := range c.Slowdowns {
		fmt.Fprintf(w, "%g%% slowdown found                %s\n", 100*s.By, rateText(s.Found))
	}
	fmt.Fprintf(w, "intervals contain the slowdown   %s\n", rateText(covered))
	fmt.Fprintf(w, "found in 95%% by their intervals  %.2f%%\n\n", 100*c.Needed)
	fmt.Fprintf(w, "a gate, with %d rows a run, both sides of one build:\n", rowsOfAGate)
	fmt.Fprintf(w, "equal code fails it              %s\n", rateText(c.Gate.Failed))
	fmt.Fprintf(w, "rows of equal code pass it       %s\n", rateText(c.Gate.Passed))
	for _, s := range c.Gate.Slowdowns {
		fmt.Fprintf(w, "%g%% slowdown fails it             %s\n", 100*s.By, rateText(s.Found))
	}
	fmt.Fprintf(w, "\n%s\n", calibrationLine(rec, c))
	return nil
}

// eachTook is how much of the budget a comparison had.
func eachTook(rec *record.Record) time.Duration {
	return (rec.Run.Budget / time.Duration(len(rec.Cases()))).Round(time.Second / 10)
}

func rate(k, n int) rateForm {
	low, high := stats.ClopperPearson(k, n, 0.95)
	return rateForm{Count: k, Of: n, Value: float64(k) / float64(max(1, n)), Low: low, High: high}
}

func rateText(r rateForm) string {
	return fmt.Sprintf("%5.1f%%  (95%% interval %.1f%% to %.1f%%, %d of %d)", 100*r.Value, 100*r.Low, 100*r.High, r.Count, r.Of)
}

// calibrationLine says in one line what verdicts are worth here.
func calibrationLine(rec *record.Record, r *calibrationForm) string {
	finds := fmt.Sprintf("a slowdown of %.3g%% is found in 95%% of comparisons", 100*r.Needed)
	for _, s := range r.Slowdowns {
		if r.Smallest != nil && s.By == *r.Smallest {
			finds = fmt.Sprintf("a slowdown of %g%% is found in %.0f%% of comparisons (%d found)", 100*s.By, 100*s.Found.Value, s.Found.Count)
		}
	}
	return fmt.Sprintf("%s on this machine, %v a comparison: %s; equal things are called different in at most %.1f%% (%d of %d)",
		r.Stage, eachTook(rec), finds, 100*r.FalseAlarms.High, r.FalseAlarms.Count, r.Comparisons)
}
