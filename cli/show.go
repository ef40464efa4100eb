package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"postage/internal/report"
	"postage/lab"
	"postage/record"
)

func (p program) showCommand() *cobra.Command {
	var asJSON, asMarkdown bool
	var priced pricing
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Print a saved run again",
		Long: `Prints the table of a saved run: a file, a name in ` + runsFolder + `, or the latest.
Damaged records are refused, with the line and what was expected there. Costs can be
priced for a process with another heap or GOGC, without measuring again.`,
		Example: `  postage show
  postage show 2026-11-21T101500 --json
  postage show before.txt
  postage show --heap 1GB --gogc 200`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			rec, err := loadRun(name)
			if err != nil {
				return err
			}
			if err := priced.apply(cmd, rec); err != nil {
				return err
			}
			if asMarkdown {
				return p.printMarkdown(cmd, rec)
			}
			return p.printRecord(cmd, rec, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asMarkdown, "markdown", false, "print Markdown, as GitHub shows it")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	priced.register(cmd)
	return cmd
}

// printRecord prints a record to standard output, and reports rows that failed.
func (p program) printRecord(cmd *cobra.Command, rec *record.Record, asJSON bool) error {
	var err error
	if asJSON {
		err = report.JSON(cmd.OutOrStdout(), rec)
	} else {
		err = report.Terminal(cmd.OutOrStdout(), rec, lab.Stages(p.suites), colorful(cmd))
	}
	if err != nil {
		return err
	}
	return failedRow(rec)
}

// printMarkdown is printRecord in Markdown.
func (p program) printMarkdown(cmd *cobra.Command, rec *record.Record) error {
	if err := report.Markdown(cmd.OutOrStdout(), rec, lab.Stages(p.suites)); err != nil {
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

// colorful reports whether standard output is a terminal that shows colours, and the user wants
// them (NO_COLOR, CLICOLOR_FORCE and the like).
func colorful(cmd *cobra.Command) bool {
	return colorprofile.Detect(cmd.OutOrStdout(), os.Environ()) > colorprofile.ASCII
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
