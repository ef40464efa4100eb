package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/bench"
	"postage/internal/verdict"
	"postage/lab"
)

// countBench counts the instructions of the set's benchmarks, prints what was counted, also if it is
// interrupted, and gates it.
func countBench(cmd *cobra.Command, set *bench.Set, flags *benchFlags, limits verdict.Thresholds) error {
	run := &bench.CountedRun{Vary: set.Text(), Notes: slices.Clone(set.Notes), Warnings: set.Warnings, Lost: set.Lost}
	if set.Same != "" {
		run.Notes = append(run.Notes, set.Same)
	}
	var budget time.Duration // counting ends by itself
	if cmd.Flags().Changed("budget") {
		budget = flags.budget
	}
	err := set.Count(cmd.Context(), limits, budget, run, func(name string) { say(cmd, "counted %s", name) })
	interrupted := cmd.Context().Err() != nil
	if err != nil && !interrupted {
		return err
	}
	if err := bench.PrintCounts(cmd.OutOrStdout(), run, flags.form(cmd)); err != nil {
		return err
	}
	failed := func(c bench.Counted) bool { return c.Failed != "" }
	switch {
	case interrupted:
		return lab.ErrInterrupted
	case flags.gate:
		return gateStatus(cmd, run.Outcome, set.Lost, run.Vary)
	case len(set.Lost) > 0 || slices.ContainsFunc(run.Rows, failed):
		return errFailedRow
	}
	return nil
}
