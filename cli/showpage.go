package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"postage/internal/feature/history"
	"postage/internal/feature/show"
	"postage/lab"
)

// pageFlags are the flags of `show --html`.
type pageFlags struct {
	file, history string
}

func (f *pageFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "html", "", "make a page, for a browser, in `file`")
	cmd.Flags().StringVar(&f.history, "history", "", "with --html: show how the rows changed, by the records in `folder`")
}

// makePage makes a page of some runs, of the latest if none is named.
func (all suites) makePage(cmd *cobra.Command, names []string, flags *pageFlags) error {
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
			return hinted(fmt.Errorf("%s has Go benchmarks: the page is about messages", names[i]), "`postage show "+names[i]+" --markdown` prints them for a browser")
		}
	}
	var runs []show.NamedRun
	for i, name := range names {
		runs = append(runs, show.NamedRun{Name: name, Record: records[i]})
	}
	contents := show.Contents{Runs: runs, Stages: lab.Stages(all)}
	if flags.history != "" {
		trends, err := reportedTrends(cmd, flags.history, runs)
		if err == nil {
			contents.Sections, err = history.Section(trends)
		}
		if err != nil {
			return err
		}
	}
	if err := writeFile(flags.file, func(w io.Writer) error { return show.HTML(w, contents) }); err != nil {
		return err
	}
	say(cmd, "page saved as %s", flags.file)
	return nil
}
