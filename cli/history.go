package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/feature/history"
	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/record"
)

func (p program) historyCommand() *cobra.Command {
	var flags formFlags
	var row string
	cmd := &cobra.Command{
		Use:   "history [FOLDER] --row ROW",
		Short: "See in a folder of records when a row became slower",
		Long: `Prints how a row changed from run to run, by the records in a folder, ` + runsFolder + `
unless you name another: the changes that chance does not explain with the run and commit
that they began with, and the figures of the last 20 runs; one such trend for each machine.
A team shares the folder. --json has all runs.

Times are taken as a multiple of an anchor's in the same run, so that a machine that was
slower as a whole cancels out. The anchor is the case's baseline in its module version:
when that changes, a new trend begins. A change has at least 5 runs on either side. In a
row that never changed one is found in at most 5% of all trends.`,
		Example: p.suites.example().expand(`  postage history --row {case}/{part}
  postage history ./records --row {case}/{part}`),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return hinted(fmt.Errorf("want one folder, not %d arguments", len(args)), "a history is a folder of records: `postage history FOLDER --row ROW` (docs/history.md)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if row == "" {
				return hinted(errors.New("--row is missing: whose history?"), "`postage show` prints the rows of a run")
			}
			return printTrends(cmd, strings.Join(args, ""), row, flags.form(cmd))
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&row, "row", "", "print how this `row` changed: its name, or a part of it that no other row has")
	return cmd
}

func printTrends(cmd *cobra.Command, folder, name string, form report.Form) error {
	h, err := readHistory(cmd, folder, func(row string) bool { return strings.Contains("/"+row+"/", name) })
	if err != nil {
		return err
	}
	row, err := historyRow(h.Rows(), name)
	if err != nil {
		return err
	}
	return history.PrintTrends(cmd.OutOrStdout(), row, h.Trends(row), form)
}

// readHistory reads the records in a folder, or in the runs folder for "". It warns of each file
// that is skipped.
func readHistory(cmd *cobra.Command, folder string, wanted func(row string) bool) (*history.History, error) {
	if folder == "" {
		folder = runsFolder
	}
	if !isFolder(folder) {
		return nil, hinted(fmt.Errorf("there is no folder %s", folder), "a history is a folder of records: `postage run` saves them in "+runsFolder+", or where --out says")
	}
	h, err := history.Read(cmd.Context(), folder, wanted)
	if err != nil {
		return nil, err
	}
	for _, skipped := range h.Skipped {
		say(cmd, "skipped: %v", skipped)
	}
	if h.Empty() {
		return nil, hinted(fmt.Errorf("%s has no records", folder), "a record's file ends in .txt: `postage run --out FOLDER/NAME.txt` makes one")
	}
	return h, nil
}

// historyRow finds the row with that name, or the only row with the text in its name.
func historyRow(rows []string, name string) (string, error) {
	if slices.Contains(rows, name) {
		return name, nil
	}
	// Whole key=value parts first: codec=b is not codec=base.
	with := func(text string) []string {
		return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return !strings.Contains("/"+row+"/", text) })
	}
	near := with("/" + name + "/")
	if len(near) == 0 {
		near = with(name)
	}
	switch {
	case len(near) == 1:
		return near[0], nil
	case len(near) > 0:
		return "", hinted(fmt.Errorf("%d rows in the history have %q in their name", len(near), name), "such as "+strings.Join(near[:min(3, len(near))], ", "))
	}
	return "", hinted(fmt.Errorf("the history has no row %q", name), "`postage show` prints the rows of a run")
}

// reportedTrends reads the trends of these runs' contenders on their machines.
func reportedTrends(cmd *cobra.Command, folder string, runs []show.NamedRun) (trends []*history.Trend, err error) {
	machines := map[string]map[string]bool{} // by row
	var rows []string
	for _, run := range runs {
		for i := range run.Record.Rows {
			row := &run.Record.Rows[i]
			// Nobody chooses a floor, and the control is the anchor again.
			if row.Role != record.RoleContender {
				continue
			}
			if machines[row.Name] == nil {
				machines[row.Name] = map[string]bool{}
				rows = append(rows, row.Name)
			}
			machines[row.Name][run.Record.Machine.Identity()] = true
		}
	}
	h, err := readHistory(cmd, folder, func(row string) bool { return machines[row] != nil })
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		for _, t := range h.Trends(row) {
			if machines[row][t.Machine] {
				trends = append(trends, t)
			}
		}
	}
	return trends, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
