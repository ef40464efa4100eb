package cli

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/build"
	"postage/internal/feature/show"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// runFlags are the flags of `postage run`.
type runFlags struct {
	measureFlags
	worldFlags
	list bool
}

// printRun prints the record in the form that was asked for, and beneath it, but for JSON, how it
// compares with the revision that it was against. With --gate that decides the exit status.
func (all suites) printRun(cmd *cobra.Command, rec *record.Record, f *runFlags, gated bool) error {
	form := f.form(cmd)
	if err := all.printRecord(cmd, rec, form); err != nil || !verdict.IsAgainst(rec) || f.JSON && !gated {
		return err
	}
	changes := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	if !f.JSON {
		fmt.Fprintln(cmd.OutOrStdout())
	}
	switch {
	case !gated:
		return show.Changes(cmd.OutOrStdout(), changes, form)
	case !f.JSON:
		return printGate(cmd, changes, form)
	}
	return gate(cmd, changes, nil)
}

// firstLookBudget is how long a first look takes.
const firstLookBudget = 90 * time.Second

func (p program) runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [PATTERN...]",
		Short: "Measure, and print a table",
		Long: `Measures the rows that the patterns select, beside their case's baseline, control and
floors, and prints what to use and a table for each case. Without a pattern it takes a first look:
an answer to each stage's question in 90 seconds. "all" measures everything.

` + p.suites.expand(patternHelp) + `

Every contender proves that it does the work before it is timed. The record is saved as
it grows: Ctrl-C loses no finished block, a kill at most the last few of a long run.

Exit status: 0 measured, except rows that say why they could not be; 1 some row failed
its proof; 2 wrong usage, the tool itself failed, or nothing could be measured; 130
interrupted.`,
		Example: p.suites.expand(`  postage run
  postage run {case} --budget 90s
  postage run {some} {part} --precision 0.5%
  postage run all --budget 1h --json > all.json
  postage run {case} --against main
  postage run {case} --heap 64MB --gogc 200
  postage run {case} --vary GOTOOLCHAIN=go1.26.8,go1.27.0
  postage run --resume .postage/runs/latest`),
		ValidArgsFunction: p.suites.completePatterns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.runRun(cmd, args, &flags)
		},
	}
	flags.measureFlags.register(cmd, layoutsOfAGate)
	f := cmd.Flags()
	f.Uint64Var(&flags.seed, "seed", record.DefaultSeed, "draws the inputs, the order of batches and the layouts")
	f.BoolVar(&flags.list, "list", false, "print what would be measured, and measure nothing")
	f.Lookup("budget").Usage += "; of a first look " + firstLookBudget.String() + ", unless given"
	f.Lookup("resume").Usage += "; repeat the flags or variables that name your own servers"
	flags.worldFlags.register(cmd)
	clash := p.suites.addFlags(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return clash }
	helpInGroups(cmd, "budget precision out resume against vary list json markdown",
		flagGroup{"How long, and how narrow", "budget precision"},
		flagGroup{"What is measured, and how", "seed heap gogc cpu against vary layouts list"},
		flagGroup{"The record and the output", "out resume json markdown"})
	return cmd
}

// checkRun refuses values of flags that cannot be, and flags that do not go together.
func (all suites) checkRun(cmd *cobra.Command, patterns []string, flags *runFlags) error {
	if err := flags.worldFlags.parse(cmd); err != nil {
		return err
	}
	if err := flags.measureFlags.check(cmd, patterns, "cpu", "heap", "gogc", "seed", "list"); err != nil {
		return err
	}
	if !flags.one() && slices.ContainsFunc(all, func(s lab.Suite) bool { return s.Brought }) {
		return hinted(errors.New("--against and --vary: this program is built of a brought message, which no revision has"),
			"bring it with the program of either revision, and compare the two records with `postage compare`")
	}
	return nil
}

func (p program) runRun(cmd *cobra.Command, patterns []string, flags *runFlags) (err error) {
	if err := p.suites.checkRun(cmd, patterns, flags); err != nil {
		return err
	}
	m, entries, err := p.suites.toRun(cmd, patterns, flags)
	if err != nil {
		return err
	}
	var sides *build.Sides // nil where this program is measured
	if !flags.one() && !flags.list {
		if sides, entries, err = flags.buildSides(cmd, entries); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sides.Close()) }()
	}
	if flags.list {
		plan := lab.NewPlan(entries, flags.budget)
		fmt.Fprintln(cmd.ErrOrStderr(), plan.Describe(flags.budget))
		return listRows(cmd.OutOrStdout(), entries)
	}
	if err := flags.fits(entries); err != nil {
		return err
	}
	if err := flags.begin(cmd, m, entries, sides, "", record.Run{Patterns: patterns, World: flags.world, GOMAXPROCS: flags.cpu}); err != nil {
		return err
	}
	if m.resumed {
		if _, err := p.suites.choose(cmd, m.entries, lab.Choice{Patterns: m.rec.Run.Patterns, Resumed: true}); err != nil {
			return err
		}
	}
	return m.measure(cmd, lab.Conductor{}, func(whole bool) error {
		if err := p.suites.printRun(cmd, m.rec, flags, flags.gate && whole); err != nil {
			return err
		}
		if whole && len(m.rec.Blocks) == 0 {
			return errNothing
		}
		return nil
	})
}

// toRun is a run, a new one or one to go on with, and the entries that it may measure.
func (all suites) toRun(cmd *cobra.Command, patterns []string, flags *runFlags) (*measurement, []lab.Entry, error) {
	if flags.resume != "" {
		m, err := flags.unfinished(cmd)
		if err != nil {
			return nil, nil, err
		}
		return m, lab.Entries(lab.WithCases(all, m.rec.Cases())), nil
	}
	if len(patterns) == 0 && !cmd.Flags().Changed("budget") {
		flags.budget = firstLookBudget
	}
	entries, err := all.selected(cmd, patterns)
	if err != nil {
		return nil, nil, err
	}
	entries, err = all.choose(cmd, entries, lab.Choice{Patterns: patterns, Budget: flags.budget})
	return new(measurement), entries, err
}

// tell says each of some lines.
func tell(cmd *cobra.Command, lines []string) {
	for _, line := range lines {
		say(cmd, "%s", line)
	}
}

// say tells the user something that is not the result.
func say(cmd *cobra.Command, format string, a ...any) {
	name := cmd.Root().Name()
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", name, called(name, fmt.Sprintf(format, a...)))
}

// commit is the one that this program was built from, "" if the program does not know it, as "go
// run" does not store it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return commitOf(info)
}

func commitOf(info *debug.BuildInfo) (revision string) {
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = build.Dirty
		}
	}
	return revision + dirty
}
