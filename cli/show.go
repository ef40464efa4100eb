package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
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
	var page string
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
			if len(args) > 1 && page == "" {
				return hinted(errors.New("it prints one run"),
					"--html FILE makes a page of several; `postage compare` compares two")
			}
			if len(args) > 1 {
				return p.suites.makePage(cmd, args, page)
			}
			rec, err := loadRun(strings.Join(args, ""))
			if err != nil {
				return err
			}
			if printed, err := showAgainst(cmd, rec, page, flags.form(cmd)); printed {
				return err
			}
			if page != "" {
				return p.suites.makePage(cmd, args, page)
			}
			if isBench(rec) && !flags.JSON {
				return bench.Print(cmd.OutOrStdout(), rec, benchChanges(rec, verdict.DefaultThresholds()), nil, flags.form(cmd))
			}
			return p.suites.printRecord(cmd, rec, flags.form(cmd))
		},
	}
	cmd.Flags().StringVar(&page, "html", "", "make a page, for a browser, in `file`")
	flags.register(cmd, "html")
	return cmd
}

// makePage makes a page of some runs, of the latest if none is named.
func (all suites) makePage(cmd *cobra.Command, names []string, file string) error {
	if len(names) == 0 {
		names = []string{""}
	}
	records, err := loadRuns(names)
	if err != nil {
		return err
	}
	for i := range records {
		if names[i] = cmp.Or(names[i], latestName); slices.Index(names, names[i]) < i {
			return hinted(fmt.Errorf("%s is given twice", names[i]), "name each run once")
		}
		if isBench(records[i]) {
			return hinted(fmt.Errorf("%s has Go benchmarks: the page is about messages", names[i]),
				"`postage show "+names[i]+" --markdown` prints them for a browser")
		}
	}
	var runs []show.NamedRun
	for i, name := range names {
		runs = append(runs, show.NamedRun{Name: name, Record: records[i]})
	}
	if err := writeFile(file, func(w io.Writer) error { return show.HTML(w, runs, lab.Stages(all)) }); err != nil {
		return err
	}
	say(cmd, "page saved as %s", file)
	return nil
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
