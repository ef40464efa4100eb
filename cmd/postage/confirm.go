package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/record"
	"postage/stage"
)

// confirm measures the cases of the rows whose times regressed once more, in fresh
// processes, and lets only those stay regressed that regressed there too.
func confirm(cmd *cobra.Command, c *lab.Changes, budget time.Duration) (err error) {
	suspects := c.Suspects()
	if len(suspects) == 0 {
		return nil
	}
	if why := cannotConfirm(c); why != "" {
		c.Warnings = append(c.Warnings, "not confirmed on fresh blocks: "+why)
		return nil
	}
	var old *lab.Revision
	if commit := revisionOf(c.New); commit != "" && c.Paired {
		say(cmd, "postage: building this program as of %s", commit)
		var remove func() error
		if old, remove, err = buildRevision(cmd.Context(), commit); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	entries := lab.EntriesOf(c.New, suspects, stage.Suites(), old)
	plan := lab.NewPlan(entries, budget, c.New.Run.Precision)
	started := time.Now()
	out := newRecordName("confirm-", started)
	if err := record.Reserve(out); err != nil {
		return err
	}
	run := c.New.Run
	fresh := lab.NewRecord(plan, record.Run{
		Started: started.UTC().Truncate(time.Second), Patterns: run.Patterns, Seed: run.Seed, Precision: run.Precision,
		Budget: budget, GOMAXPROCS: run.GOMAXPROCS, Commit: run.Commit,
	}, record.ThisMachine(200*time.Millisecond))
	say(cmd, "postage: %s regressed: measuring again, for up to %v", plural(len(suspects), "row"), budget)
	command, err := lab.SelfCommand("worker")
	if err != nil {
		return err
	}
	if err := conduct(cmd, command, plan.Entries, fresh, out); err != nil {
		return err
	}
	say(cmd, "postage: record saved as %s", out)
	c.Confirm(fresh)
	return nil
}

// cannotConfirm says why this program cannot measure the new run's rows once more, "" if
// it can.
func cannotConfirm(c *lab.Changes) string {
	switch here := record.ThisMachine(0); {
	case c.New.Machine.Identity() != here.Identity():
		return fmt.Sprintf("the run is of another machine (%s) than this (%s)", c.New.Machine.Identity(), here.Identity())
	case c.New.Run.Program == "" || c.New.Run.Program != lab.ThisProgram():
		return "the run was measured by another build of this program"
	}
	return ""
}
