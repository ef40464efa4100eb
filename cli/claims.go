package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/claims"
	"postage/lab"
	"postage/record"
)

func (p program) claimsCommand() *cobra.Command {
	var flags formFlags
	var measure bool
	var budget time.Duration
	cmd := &cobra.Command{
		Use:   "claims [RUN...]",
		Short: "Compare what five benchmark pages say with what was measured here",
		Long: `For each of the 15 claims of five well-known benchmark pages, prints what was published,
what saved runs say (the latest if none is given), whether the claim holds, and why it may
not. With --measure it measures the rows that the claims are about first.`,
		Example: `  postage claims --measure --budget 30m
  postage claims encode.txt seal.txt --markdown`,
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := p.suites.claimRuns(cmd, args, measure, budget)
			if err != nil {
				return err
			}
			return claims.Check(claims.All(), runs).Print(cmd.OutOrStdout(), flags.form(cmd))
		},
	}
	flags.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&measure, "measure", false, "measure the rows first")
	f.DurationVar(&budget, "budget", 10*time.Minute, "total time that measuring may take")
	return cmd
}

// claimRuns measures, or loads the named runs. Without names it loads the latest, if there is one.
func (all suites) claimRuns(cmd *cobra.Command, names []string, measure bool, budget time.Duration) ([]*record.Record, error) {
	if measure {
		if len(names) > 0 {
			return nil, hinted(errors.New("--measure makes a new run, so it takes no runs"),
				"leave out one of the two")
		}
		rec, err := all.measureClaims(cmd, budget)
		return []*record.Record{rec}, err
	}
	if len(names) == 0 {
		if _, err := os.Stat(filepath.Join(runsFolder, latestName)); errors.Is(err, fs.ErrNotExist) {
			say(cmd, "there is no saved run below this folder: `postage claims --measure` makes one")
			return nil, nil
		}
		names = []string{""}
	}
	return loadRuns(names)
}

// measureClaims measures the rows that the claims are about, as `postage run` does.
func (all suites) measureClaims(cmd *cobra.Command, budget time.Duration) (*record.Record, error) {
	const precision = 0.05
	if budget <= 0 {
		return nil, fmt.Errorf("--budget %v: must be more than 0", budget)
	}
	patterns := claims.Patterns(claims.All())
	entries, err := lab.Select(all, patterns)
	if err != nil {
		return nil, err
	}
	var m measurement
	flags := measureFlags{budget: budget, precision: precision, seed: record.DefaultSeed}
	if err := flags.begin(cmd, &m, entries, nil, "claims-", record.Run{Patterns: patterns}); err != nil {
		return nil, err
	}
	if err := conduct(cmd, lab.Conductor{}, m.entries, m.rec, m.out); err != nil {
		return nil, err
	}
	say(cmd, "record saved as %s", m.out)
	return m.rec, nil
}
