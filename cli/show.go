package cli

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/feature/bench"
	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

func (p program) showCommand() *cobra.Command {
	var flags formFlags
	var page pageFlags
	cmd := &cobra.Command{
		Use:   "show [RUN...]",
		Short: "Print a saved run again, or make a page of some",
		Long: `Prints the table of a saved run: a file, a name in ` + runsFolder + `, or the latest.
Damaged records are refused, with the line and what was expected there.

With --html it makes one HTML file of one or more runs instead: who won, by how much, with
plots and tables. It needs no network and no other file, and is complete without scripts.`,
		Example: `  postage show
  postage show before.txt --json
  postage show encode.txt seal.txt --html costs.html`,
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if printed, err := showAgainst(cmd, args[0], page.file, flags.form(cmd)); printed {
					return err
				}
			}
			if page.file != "" {
				return p.suites.makePage(cmd, args, &page)
			}
			if page.history != "" {
				return hinted(errors.New("--history goes with --html"), "`postage show --html FILE`")
			}
			if len(args) > 1 {
				return hinted(errors.New("it prints one run"), "--html FILE makes a page of several; `postage compare` compares two")
			}
			rec, err := loadRun(strings.Join(args, ""))
			if err != nil {
				return err
			}
			if isBench(rec) && !flags.JSON {
				return bench.Print(cmd.OutOrStdout(), rec, benchChanges(rec, verdict.DefaultThresholds()), nil, flags.form(cmd))
			}
			return p.suites.printRecord(cmd, rec, flags.form(cmd))
		},
	}
	page.register(cmd)
	flags.register(cmd, "html")
	return cmd
}

// printRecord prints a record to standard output, and reports rows that failed.
func (all suites) printRecord(cmd *cobra.Command, rec *record.Record, form report.Form) error {
	if err := show.Record(cmd.OutOrStdout(), rec, lab.Stages(all), form); err != nil {
		return err
	}
	return failedRow(rec)
}

// failedRow is errFailedRow if a row of the record failed its proof.
func failedRow(rec *record.Record) error {
	for i := range rec.Rows {
		if rec.Rows[i].Proof.Is(record.ProofFailed) {
			return errFailedRow
		}
	}
	return nil
}

// completeRuns completes the names of saved runs.
func completeRuns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	files, _ := filepath.Glob(filepath.Join(runsFolder, "*.txt"))
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".txt"))
	}
	return names, cobra.ShellCompDirectiveDefault
}
