package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/history"
	"postage/internal/history/trend"
	"postage/internal/show"
	"postage/internal/words"
	"postage/record"
)

// historyFile is where the history is kept unless told otherwise, below the current folder.
const historyFile = ".postage/history.db"

// historyVariable is the environment variable that says otherwise.
const historyVariable = "POSTAGE_HISTORY"

const placeUsage = "the history's `file` (default $" + historyVariable + ", or " + historyFile + ")"

func (p program) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Keep the figures of runs, and see when a row became slower",
		Long: `Keeps the figures of saved runs in a file, over months and machines, and shows how a row
changed from run to run, with the runs marked from which on it was faster or slower.
A team shares the runs' files: each reads their folder.

Times are taken as a multiple of an anchor's in the same run, so that a machine that was
slower as a whole cancels out. The anchor is the case's baseline in the first run that was
added, in its module version: when that changes, a new trend begins.`,
		Example: p.example().expand(`  postage history add latest
  postage history list
  postage history show {case}/{part}
  postage history add /shared/runs`),
		Args: noOther("add, list and show"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var place string
	cmd.PersistentFlags().StringVar(&place, "db", "", placeUsage)
	cmd.AddCommand(historyAddCommand(&place), historyListCommand(&place), p.historyShowCommand(&place))
	return cmd
}

func historyAddCommand(place *string) *cobra.Command {
	return &cobra.Command{
		Use:   "add RUN|FOLDER...",
		Short: "Add saved runs to the history",
		Long: `Adds the figures of saved runs, or of all in a folder, to the history, which is created if
needed. What it reports as added is on disk. A run that is already there is left as it is;
one that was resumed since then is replaced.`,
		Example: `  postage history add latest
  postage history add before.txt after.txt
  postage history add /shared/runs`,
		ValidArgsFunction: completeRuns,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return hinted(errors.New("want the runs to add"), "`postage history add latest` adds the latest")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withHistory(cmd, *place, history.Open, func(db *history.DB) error {
				for _, name := range args {
					if err := addRuns(cmd, db, name); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// addRuns adds one run, or a folder's that are not there yet.
func addRuns(cmd *cobra.Command, db *history.DB, name string) error {
	if !isFolder(name) {
		return addRun(cmd, db, name, true)
	}
	files, err := filepath.Glob(filepath.Join(name, "*.txt"))
	if err == nil && len(files) == 0 {
		return hinted(fmt.Errorf("%s has no runs", name), "a run's file ends in .txt")
	}
	for _, file := range files { // what is wrong with one keeps no other out
		if err = errors.Join(err, addRun(cmd, db, file, false)); cmd.Context().Err() != nil {
			break
		}
	}
	return err
}

// addRun adds one run and reports the outcome; one that is already there, or has no figures to add,
// is an outcome like another unless it was named itself.
func addRun(cmd *cobra.Command, db *history.DB, name string, there bool) error {
	file := name
	if name == latestName {
		// The link's name says nothing; that of the record does.
		if target, err := os.Readlink(filepath.Join(runsFolder, latestName)); err == nil {
			file = target
		}
		name = ""
	}
	rec, err := loadRun(name)
	if err != nil {
		return err
	}
	a, err := db.Add(cmd.Context(), rec, filepath.Base(file))
	if errors.Is(err, history.ErrNoFigures) {
		if !there {
			say(cmd, "%v", err)
			return nil
		}
		return hinted(err, "`postage show` says why")
	}
	if err != nil {
		return err
	}
	text := map[history.Outcome]string{
		history.Added:     fmt.Sprintf("added as record %d, %s", a.Record, words.Counted(a.Figures, "row")),
		history.There:     fmt.Sprintf("already there as record %d; nothing was changed", a.Record),
		history.Continued: fmt.Sprintf("was resumed after it was added: record %d now has its new figures, %s", a.Record, words.Counted(a.Figures, "row")),
		history.Behind:    fmt.Sprintf("is already there as record %d with more blocks; nothing was changed", a.Record),
	}[a.Outcome]
	if there || a.Outcome != history.There {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", filepath.Base(file), text)
	}
	if a.Outcome != history.Added && a.Outcome != history.Continued {
		return nil
	}
	if a.Partial {
		say(cmd, "%s is partial: the run was not completed; --resume continues it", filepath.Base(file))
	}
	if a.Without > 0 {
		say(cmd, "%s without figures left out", words.Counted(a.Without, "row"))
	}
	for _, n := range a.NewAnchors {
		say(cmd, "%s: the anchor is now %s, it was %s: its trends start again", n.Case, n.New, n.Old)
	}
	return nil
}

func historyListCommand(place *string) *cobra.Command {
	var flags formFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs in the history",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHistory(cmd, *place, history.OpenExisting, func(db *history.DB) error {
				entries, err := db.Records(cmd.Context())
				if err != nil {
					return err
				}
				if len(entries) == 0 && !flags.JSON {
					say(cmd, "the history is empty: `postage history add latest` adds a run")
					return nil
				}
				return history.PrintList(cmd.OutOrStdout(), entries, flags.form(cmd))
			})
		},
	}
	flags.register(cmd)
	return cmd
}

func (p program) historyShowCommand(place *string) *cobra.Command {
	var flags formFlags
	var last int
	cmd := &cobra.Command{
		Use:   "show ROW",
		Short: "Show how a row changed from run to run",
		Long: `Prints a row's ratios from run to run, the changes that chance does not explain with the
run and commit that they began with, and the figures of the last runs; one such trend for
each machine. ROW is a row's name, or a part of it that no other row has.

A change has at least 5 runs on either side. In a row that never changed one is found in
at most 5% of all trends.`,
		Example: p.example().expand(`  postage history show {case}/{part}
  postage history show {case}/{part} --last 0 --json`),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return hinted(fmt.Errorf("want one row, not %d", len(args)), "`postage show` prints the rows of a run; TAB completes them, see `postage completion --help`")
			}
			return nil
		},
		ValidArgsFunction: completeHistoryRows(place),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return fmt.Errorf("--last %d: must be 0, for all, or more", last)
			}
			return withHistory(cmd, *place, history.OpenExisting, func(db *history.DB) error {
				row, err := historyRow(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				trends, err := db.Trend(cmd.Context(), row)
				if err != nil {
					return err
				}
				return history.PrintTrends(cmd.OutOrStdout(), row, trends, last, flags.form(cmd))
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().IntVar(&last, "last", 20, "`runs` whose figures are printed, 0 for all")
	return cmd
}

// historyRow is the row of that name, or the only one with it in its name.
func historyRow(ctx context.Context, db *history.DB, name string) (string, error) {
	rows, err := db.Rows(ctx)
	if err != nil {
		return "", err
	}
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

// historyPlace is where the history is: from the flag, the environment, or the default.
func historyPlace(flag string) string {
	return cmp.Or(flag, os.Getenv(historyVariable), historyFile)
}

// withHistory opens the history, does something with it and closes it.
func withHistory(cmd *cobra.Command, flag string, open func(context.Context, string) (*history.DB, error), do func(*history.DB) error) (err error) {
	db, err := open(cmd.Context(), historyPlace(flag))
	switch {
	case errors.Is(err, history.ErrNone):
		return hinted(err, "`postage history add RUN` makes one")
	case errors.Is(err, history.ErrServer):
		return hinted(err, "share the runs' files instead: `postage history add FOLDER` reads those that are new (docs/history.md)")
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

// completeHistoryRows completes the names of the history's rows.
func completeHistoryRows(place *string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// Nobody waits long for a TAB.
		ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
		defer cancel()
		db, err := history.OpenExisting(ctx, historyPlace(*place))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer db.Close()
		rows, err := db.Rows(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return rows, cobra.ShellCompDirectiveNoFileComp
	}
}

// reportedTrends are the trends of the rows of these runs, on their machines. There are none
// where the history is not at the place given and the place was not asked for.
func reportedTrends(cmd *cobra.Command, flag string, runs []show.NamedRun) (trends []*trend.Trend, err error) {
	asked := flag != "" || os.Getenv(historyVariable) != ""
	if _, err := os.Stat(historyFile); err != nil && !asked {
		return nil, nil
	}
	err = withHistory(cmd, flag, history.OpenExisting, func(db *history.DB) error {
		wanted := map[string]map[string]bool{} // machines by row
		var rows []string
		for _, run := range runs {
			for i := range run.Record.Rows {
				row := &run.Record.Rows[i]
				// A floor cannot be chosen, and the control is the anchor again.
				if row.Role != record.RoleContender {
					continue
				}
				if wanted[row.Name] == nil {
					wanted[row.Name] = map[string]bool{}
					rows = append(rows, row.Name)
				}
				wanted[row.Name][run.Record.Machine.Identity()] = true
			}
		}
		return db.Trends(cmd.Context(), rows, func(t *trend.Trend) {
			if wanted[t.Row][t.Machine] {
				trends = append(trends, t)
			}
		})
	})
	if err != nil {
		return nil, hinted(err, "--history=false makes the page without it")
	}
	return trends, nil
}
