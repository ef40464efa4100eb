package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/build"
	"postage/internal/words"
	"postage/lab"
	"postage/record"
	"postage/verdict"
)

// confirm measures the cases of the rows whose times regressed once more, in fresh
// processes, and lets only those stay regressed that regressed there too. The old code is
// built and takes turns with the new one if it can be, so that what is between the two
// runs beside the code falls out.
func (p program) confirm(cmd *cobra.Command, c *verdict.Changes, budget time.Duration) (err error) {
	suspects := c.Suspects()
	if len(suspects) == 0 {
		return nil
	}
	if why := cannotConfirm(c); why != "" {
		c.Warnings = append(c.Warnings, "not confirmed on fresh blocks: "+why)
		return nil
	}
	commit := c.Old.Run.Commit
	if c.Paired {
		commit = revisionOf(c.New)
	}
	old, remove, err := oldCode(cmd, commit)
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, remove()) }()
	case c.Paired || errors.Is(err, lab.ErrInterrupted):
		return err
	default:
		c.Warnings = append(c.Warnings, fmt.Sprintf("the baseline's code did not take turns in the fresh blocks, which are of the new code alone: %v", err))
	}
	entries := lab.EntriesOf(c.New, suspects, p.suites)
	if old != nil {
		entries = lab.Against(entries, old, nil)
	}
	plan := lab.NewPlan(entries, budget)
	run := c.New.Run
	fresh, out, err := newRun(plan, record.Run{
		Patterns: run.Patterns, Seed: run.Seed, Precision: run.Precision, Budget: budget, GOMAXPROCS: run.GOMAXPROCS, Commit: run.Commit,
	}, "", "confirm-")
	if err != nil {
		return err
	}
	say(cmd, "postage: %s: measuring again, for up to %v", regressedText(c), budget)
	if err := conduct(cmd, plan.All(), fresh, out, 0); err != nil {
		return err
	}
	say(cmd, "postage: record saved as %s", out)
	c.Confirm(fresh)
	return nil
}

// regressedText counts the rows whose times regressed, and the cases that are measured again.
func regressedText(c *verdict.Changes) string {
	rows := 0
	for i := range c.Rows {
		if c.Rows[i].Time == verdict.Regressed {
			rows++
		}
	}
	return fmt.Sprintf("%s of %s regressed", words.Counted(rows, "row"), words.Counted(len(c.Suspects()), "case"))
}

// oldCode builds this program as of the commit that a run was measured at.
func oldCode(cmd *cobra.Command, commit string) (*lab.Build, func() error, error) {
	switch {
	case commit == "":
		return nil, nil, errors.New("its run does not say which commit it was measured at")
	case strings.HasSuffix(commit, build.Dirty):
		return nil, nil, fmt.Errorf("its run was measured with changes that were not committed (%s)", commit)
	}
	both, remove, err := buildSides(cmd, commit, 1)
	return both.old, remove, err
}

// cannotConfirm says why this program cannot measure the new run's rows once more, "" if
// it can.
func cannotConfirm(c *verdict.Changes) string {
	switch here := record.ThisMachine(0); {
	case c.New.Machine.Identity() != here.Identity():
		return fmt.Sprintf("the run is of another machine (%s) than this (%s)", c.New.Machine.Identity(), here.Identity())
	case c.New.Run.Program == "" || c.New.Run.Program != lab.ThisProgram():
		return "the run was measured by another build of this program"
	}
	return ""
}
