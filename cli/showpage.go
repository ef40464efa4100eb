package cli

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"postage/internal/feature/claims"
	"postage/internal/feature/history"
	"postage/internal/feature/show"
	"postage/lab"
)

// pageFlags are the flags of `show --html`.
type pageFlags struct {
	file, history string
	open          bool
}

func (f *pageFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "html", "", "make a page, for a browser, in `file`")
	cmd.Flags().BoolVar(&f.open, "open", false, "with --html: show it in the browser")
	cmd.Flags().StringVar(&f.history, "history", "", "with --html: show how the rows changed, by the records in `folder`")
}

// unused is an error if a flag of pages was given for a table.
func (f *pageFlags) unused(cmd *cobra.Command) error {
	for _, name := range []string{"open", "history"} {
		if cmd.Flags().Changed(name) {
			return hinted(fmt.Errorf("--%s goes with --html", name), "`postage show --html FILE`")
		}
	}
	return nil
}

// makePage makes a page of some runs, of the latest if none is named.
func (p program) makePage(cmd *cobra.Command, names []string, flags *pageFlags) error {
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
	}
	var runs []show.NamedRun
	for i, name := range shortNames(names) {
		runs = append(runs, show.NamedRun{Name: name, Record: records[i]})
	}
	contents := show.Contents{Runs: runs, Stages: lab.Stages(p.suites)}
	if flags.history != "" {
		trends, err := reportedTrends(cmd, flags.history, runs)
		if err == nil {
			contents.Sections, err = history.Section(trends)
		}
		if err != nil {
			return err
		}
	}
	published, err := claims.Check(claims.All(), records).Section()
	if err != nil {
		return err
	}
	contents.Sections = append(contents.Sections, published...)
	if err := writeFile(flags.file, func(w io.Writer) error { return show.HTML(w, contents) }); err != nil {
		return err
	}
	say(cmd, "page saved as %s", flags.file)
	if flags.open {
		return openInBrowser(cmd, flags.file)
	}
	return nil
}

// shortNames drops the folders from the names of runs, unless two folders have a run of that name.
func shortNames(names []string) (short []string) {
	number := map[string]int{}
	for _, name := range names {
		number[filepath.Base(name)]++
	}
	for _, name := range names {
		if base := filepath.Base(name); number[base] == 1 {
			name = base
		}
		short = append(short, name)
	}
	return short
}

// openInBrowser shows a file in the desktop's browser.
func openInBrowser(cmd *cobra.Command, file string) error {
	name, args := "xdg-open", []string{file}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", file}
	}
	if err := exec.CommandContext(cmd.Context(), name, args...).Run(); err != nil {
		return hinted(err, "open "+file+" in a browser by hand")
	}
	return nil
}
