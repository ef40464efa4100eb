package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/feature/history"
	"postage/internal/kit/report"
)

func (p program) historyCommand() *cobra.Command {
	var flags formFlags
	var row, page string
	cmd := &cobra.Command{
		Use:   "history [FOLDER] --row ROW",
		Short: "See in a folder of records when a row became slower",
		Long: `Prints how a row changed from run to run, by the records in a folder, ` + runsFolder + `
unless you name another: the changes that chance does not explain with the run and commit
that they began with, and the figures of the last 20 runs. A team shares the folder. --json
and --html have all runs.

Times are taken as a multiple of an anchor's in the same run, so that a machine that was
slower as a whole cancels out. The anchor is the case's baseline in its module version. Each
anchor, and each machine, has a trend of its own. A change has at least 5 runs on either
side. In a row that never changed one is found in at most 5% of all trends.`,
		Example: p.suites.expand(`  postage history --row {case}/{part}
  postage history ./records --row {case}/{part}`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printTrends(cmd, strings.Join(args, ""), row, page, flags.form(cmd))
		},
	}
	cmd.Flags().StringVar(&row, "row", "", "print how this `row` changed: its name, or key=value parts that no other row has")
	cmd.Flags().StringVar(&page, "html", "", "make a page, for a browser, in `file`")
	flags.register(cmd, "html")
	_ = cmd.MarkFlagRequired("row") // there is such a flag
	return cmd
}

func printTrends(cmd *cobra.Command, folder, name, page string, form report.Form) error {
	h, err := readHistory(cmd, cmp.Or(folder, runsFolder), func(row string) bool { return strings.Contains("/"+row+"/", "/"+name+"/") })
	if err != nil {
		return err
	}
	row, err := historyRow(h.Rows(), name)
	if err != nil {
		return err
	}
	trends := h.Trends(row)
	switch {
	case len(trends) == 0:
		return hinted(fmt.Errorf("%s has no history: no other row is its baseline", row),
			"a history is of a row's time as a multiple of its baseline's; `postage run --against` compares the baseline with its own old version")
	case page == "":
		return history.Print(cmd.OutOrStdout(), row, trends, form)
	}
	if err := writeFile(page, func(w io.Writer) error { return history.HTML(w, row, trends) }); err != nil {
		return err
	}
	say(cmd, "page saved as %s", page)
	return nil
}

// readHistory reads the records in a folder. It warns of each file that is skipped.
func readHistory(cmd *cobra.Command, folder string, wanted func(row string) bool) (*history.History, error) {
	if !isFolder(folder) {
		return nil, hinted(fmt.Errorf("there is no folder %s", folder),
			"a history is a folder of records: `postage run` saves them in "+runsFolder+", or where --out says")
	}
	h, err := history.Read(cmd.Context(), folder, wanted)
	if err != nil {
		return nil, err
	}
	for _, skipped := range h.Skipped {
		say(cmd, "skipped: %v", skipped)
	}
	if h.Empty() {
		return nil, hinted(fmt.Errorf("%s has no records", folder),
			"a record's file ends in .txt: `postage run --out FOLDER/NAME.txt` makes one")
	}
	return h, nil
}

// historyRow finds the row with that name, or the only row that has its parts.
func historyRow(rows []string, name string) (string, error) {
	if slices.Contains(rows, name) {
		return name, nil
	}
	near := slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return !strings.Contains("/"+row+"/", "/"+name+"/") })
	switch len(near) {
	case 0:
		return "", hinted(fmt.Errorf("the history has no row %q", name),
			"`postage show` prints the rows of a run; a part is whole, such as codec=msgp")
	case 1:
		return near[0], nil
	}
	return "", hinted(fmt.Errorf("%d rows in the history have %q in their name", len(near), name),
		"such as "+strings.Join(near[:min(3, len(near))], ", "))
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
