package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/bench"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// loadCounts reads the record of a run with --count.
func loadCounts(name string) (*bench.CountedRun, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	run := &bench.CountedRun{}
	if err := json.Unmarshal(text, run); err != nil || run.Version != bench.CountedVersion || run.Programs == "" {
		return nil, hinted(fmt.Errorf("%s is not a record of `postage bench --count`", name), "without --count, the record of a run that measured time is resumed")
	}
	return run, nil
}

// countBench counts the instructions of the set's benchmarks, and gates the counts. It saves the
// run's record after each benchmark. resumed is nil for a new run.
func countBench(cmd *cobra.Command, set *bench.Set, arguments []string, flags *benchFlags, resumed *bench.CountedRun, limits verdict.Thresholds) (err error) {
	run := &bench.CountedRun{Arguments: arguments, Vary: set.Text(), Programs: set.Programs()}
	out := flags.out
	switch {
	case resumed != nil && resumed.Programs != run.Programs:
		return fmt.Errorf("resume: %s was counted of other programs than are built now", flags.resume)
	case resumed != nil:
		run, out = resumed, flags.resume
	case out == "":
		if err := hideRuns(); err != nil {
			return err
		}
		out = strings.TrimSuffix(newRecordName("count-", time.Now()), ".txt") + ".json"
	}
	run.Lost = set.Lost
	if run.Notes = slices.Clone(set.Notes); set.Same != "" {
		run.Notes = append(run.Notes, set.Same)
	}
	run.Notes = append(run.Notes, set.Warnings...)
	run.Late = 0
	run.Judge()
	var budget time.Duration // counting ends by itself
	if cmd.Flags().Changed("budget") {
		budget = flags.budget
	}
	err = set.Count(cmd.Context(), limits, budget, run, func() error {
		say(cmd, "counted %s", run.Rows[len(run.Rows)-1].Case)
		return saveCounts(out, run)
	})
	if cmd.Context().Err() != nil {
		say(cmd, "interrupted; to resume: postage bench --count --resume %s", out)
		return lab.ErrInterrupted
	} else if err = errors.Join(err, saveCounts(out, run)); err != nil {
		return err
	}
	say(cmd, "record saved as %s", out)
	if err := bench.PrintCounts(cmd.OutOrStdout(), run, flags.form(cmd)); err != nil {
		return err
	}
	if flags.gate {
		return gateStatus(cmd, run.Outcome, set.Lost, run.Vary)
	}
	if len(set.Lost) > 0 || slices.ContainsFunc(run.Rows, func(c bench.Counted) bool { return c.Failed != "" }) {
		return errFailedRow
	}
	return nil
}

func saveCounts(name string, run *bench.CountedRun) error {
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	return record.Replace(name, bytes.NewReader(append(text, '\n')))
}
