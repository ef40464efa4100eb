package cli

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"postage/internal/claims"
	"postage/internal/report"
	"postage/lab"
	"postage/record"
)

func (p program) reportCommand() *cobra.Command {
	var out string
	var open, withTrends bool
	var historyDB string
	var priced pricing
	cmd := &cobra.Command{
		Use:   "report [RUN...]",
		Short: "Make a page of saved runs that a browser shows",
		Long: `Makes one HTML file of saved runs, the latest if none is given: who won, by how much, with
plots and tables. It needs no network and no other file, and is complete without scripts.`,
		Example: `  postage report
  postage report encode.txt seal.txt -o costs.html --open`,
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			names := args
			if len(names) == 0 {
				names = []string{""}
			}
			var runs []report.NamedRun
			var records []*record.Record
			for _, name := range names {
				rec, err := loadRun(name)
				if err == nil {
					err = priced.apply(cmd, rec)
				}
				if err != nil {
					return err
				}
				if name == "" {
					name = latestName
				}
				if slices.ContainsFunc(runs, func(r report.NamedRun) bool { return r.Name == name }) {
					return hinted(fmt.Errorf("%s is given twice", name), "name each run once")
				}
				records = append(records, rec)
				runs = append(runs, report.NamedRun{Name: name, Record: rec})
			}
			shorten(runs)
			contents := report.Contents{Runs: runs, Stages: lab.Stages(p.suites), Claims: claims.Check(claims.All(), records)}
			if withTrends {
				var err error
				if contents.History, err = reportedTrends(cmd, historyDB, runs); err != nil {
					return err
				}
			}
			if err := writeFile(out, func(w io.Writer) error { return report.HTML(w, contents) }); err != nil {
				return err
			}
			say(cmd, "page saved as %s", out)
			if open {
				return openInBrowser(cmd, out)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "report.html", "`file` for the page")
	cmd.Flags().BoolVar(&withTrends, "history", true, "show how the rows changed, if there is a history; --history=false leaves that out")
	cmd.Flags().StringVar(&historyDB, "db", "", placeUsage)
	cmd.Flags().BoolVar(&open, "open", false, "show it in the browser")
	priced.register(cmd)
	return cmd
}

// shorten leaves a file's folder out of the names of the runs, unless another run has the
// same name in another folder.
func shorten(runs []report.NamedRun) {
	number := map[string]int{}
	for _, r := range runs {
		number[filepath.Base(r.Name)]++
	}
	for i := range runs {
		if base := filepath.Base(runs[i].Name); number[base] == 1 {
			runs[i].Name = base
		}
	}
}

// openInBrowser shows a file in what the desktop opens pages with.
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
