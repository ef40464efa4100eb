package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"postage/internal/bench"
	"postage/internal/report"
	"postage/internal/verdict"
	"postage/lab"
)

// countBench counts the instructions of the set's benchmarks, and gates those alone.
func countBench(cmd *cobra.Command, set *bench.Set, flags benchFlags) error {
	limits := verdict.CountThresholds()
	if flags.thresholds != "" {
		given, err := loadThresholds(flags.thresholds)
		if err != nil {
			return err
		}
		limits = given
	}
	all, err := set.Count(cmd.Context(), limits, func(c *verdict.Counted) { say(cmd, "counted %s", c.Case) })
	if cmd.Context().Err() != nil {
		return lab.ErrInterrupted
	} else if err != nil {
		return err
	}
	notes := set.Notes
	if set.Same != "" {
		notes = append(slices.Clone(notes), set.Same)
	}
	form := report.Form{JSON: flags.json, Markdown: flags.markdown, Wide: flags.wide, Color: colorful(cmd)}
	if err := report.Counts(cmd.OutOrStdout(), all, notes, form); err != nil {
		return err
	}
	if flags.gate {
		return outcomeStatus(verdict.CountedOutcome(all))
	}
	if slices.ContainsFunc(all, func(c verdict.Counted) bool { return c.Failed != "" }) {
		return errFailedRow
	}
	return nil
}
