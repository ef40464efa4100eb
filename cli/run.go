package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/internal/bench"
	"postage/internal/build"
	"postage/internal/proc"
	"postage/internal/report"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// runFlags are the flags of `postage run`.
type runFlags struct {
	formFlags
	sideFlags
	worldFlags
	budget    time.Duration
	precision percent
	seed      uint64
	out       string
	layouts   int
	resume    string
	gate      bool
	list      bool
}

// printRun prints the record in the form that was asked for, and beneath it, but for JSON, how it
// compares with the revision that it was against. With --gate that decides the exit status.
func (p program) printRun(cmd *cobra.Command, rec *record.Record, f *runFlags) error {
	form := f.form(cmd)
	if err := p.printRecord(cmd, rec, form); err != nil || !verdict.IsAgainst(rec) {
		return err
	}
	changes := verdict.ComparePaired(rec, verdict.DefaultThresholds())
	switch {
	case f.gate && f.JSON:
		return cmp.Or(answers(cmd, changes), gateStatus(changes.Outcome()))
	case f.JSON:
		return nil
	}
	fmt.Fprintln(cmd.OutOrStdout())
	if f.gate {
		return gate(cmd, changes, form, "")
	}
	return report.Changes(cmd.OutOrStdout(), changes, form)
}

// firstLookBudget is how long a first look takes.
const firstLookBudget = 90 * time.Second

func (p program) runCommand() *cobra.Command {
	flags := runFlags{precision: 0.01}
	cmd := &cobra.Command{
		Use:   "run [PATTERN...]",
		Short: "Measure, and print a table",
		Long: `Measures the rows that the patterns select, beside their case's baseline, control and
floors, and prints what to use and a table for each case. Without a pattern it takes a first look:
an answer to each stage's question in 90 seconds. "all" measures everything.

` + p.example().expand(patternHelp) + `

Every contender proves that it does the work before it is timed. The record is saved as
it grows: Ctrl-C loses no finished block, a kill at most the last few of a long run.

Exit status: 0 measured, except rows that say why they could not be; 1 some row failed
its proof; 2 wrong usage, the tool itself failed, or nothing could be measured; 130
interrupted.`,
		Example: p.example().expand(`  postage run
  postage run {case} --budget 90s
  postage run {some} {part} --precision 0.5%
  postage run all --budget 1h --json > all.json
  postage run {case} --against main
  postage run {case} --heap 64MB --gogc 200
  postage run {case} --vary GOTOOLCHAIN=go1.26.8,go1.27.0
  postage run --resume .postage/runs/latest`),
		ValidArgsFunction: p.completePatterns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.runRun(cmd, args, flags)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&flags.budget, "budget", 3*time.Minute, "total time that the run may take; of a first look "+firstLookBudget.String()+", unless given")
	f.Var(&flags.precision, "precision", "half-width wanted of each ratio's interval, such as 1%")
	f.Uint64Var(&flags.seed, "seed", record.DefaultSeed, "draws the inputs and the order of batches")
	f.StringVar(&flags.out, "out", "", "`file` for the record (default a dated one in "+runsFolder+")")
	flags.sideFlags.register(cmd)
	f.IntVar(&flags.layouts, "layouts", layoutsOfAGate, "function layouts that each of two sides is built and measured in; 1 for the linker's default")
	f.StringVar(&flags.resume, "resume", "", "continue the run in `file`, with its remaining budget or the one given;\nrepeat the flags or variables that name your own servers")
	flags.worldFlags.register(cmd)
	f.BoolVar(&flags.gate, "gate", false, "with two sides: fail if a row regressed, as `postage compare --gate` does")
	flags.formFlags.register(cmd)
	f.BoolVar(&flags.list, "list", false, "print what would be measured, and measure nothing")
	clash := p.addFlags(cmd)
	options, twice := p.addOptions(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return errors.Join(clash, twice) }
	helpInGroups(cmd, "budget precision out resume against vary list json markdown",
		flagGroup{"How long, and how narrow", "budget precision"},
		flagGroup{"What is measured, and how", "seed heap gogc cpu against vary layouts list"},
		flagGroup{"Options of the cases: what stands before | holds without the flag", strings.Join(options, " ")},
		flagGroup{"The record and the output", "out resume json markdown"})
	return cmd
}

// checkRun finds flags of a run that cannot be, or not together.
func (p program) checkRun(cmd *cobra.Command, patterns []string, flags *runFlags) error {
	if err := flags.worldFlags.parse(cmd); err != nil {
		return err
	}
	switch {
	case flags.budget <= 0:
		return fmt.Errorf("--budget %v: must be more than 0", flags.budget)
	case flags.layouts < 1:
		return fmt.Errorf("--layouts %d: must be at least 1", flags.layouts)
	case flags.gate && flags.one() && flags.resume == "":
		return hinted(errors.New("--gate compares with a revision, and there is none"), "add --against main, or whatever the code is to be compared with")
	case flags.resume != "" && (len(patterns) > 0 || len(optionsGiven(cmd)) > 0 || flags.out != "" || cmd.Flags().Changed("layouts") || !flags.one() || slices.ContainsFunc([]string{"seed", "cpu", "heap", "gogc", "precision"}, cmd.Flags().Changed)):
		return hinted(errors.New("--resume takes its settings from the record: it cannot be combined with patterns, options of the cases, --out, --against, --vary, --layouts, --seed, --cpu, --heap, --gogc or --precision"), "it can be combined with --budget, --json, --markdown and the suites' flags: "+strings.Join(suiteFlags(cmd, true, func(f *pflag.Flag) string { return "--" + f.Name }), ", "))
	case !flags.one() && slices.ContainsFunc(p.suites, func(s lab.Suite) bool { return s.Brought }):
		return hinted(errors.New("--against and --vary: this program is built of a brought message, which no revision has"), "bring it with the program of either revision, and compare the two records with `postage compare`")
	}
	return nil
}

func (p program) runRun(cmd *cobra.Command, patterns []string, flags runFlags) (err error) {
	if err := p.checkRun(cmd, patterns, &flags); err != nil {
		return err
	}
	vary, err := flags.variation()
	if err != nil {
		return err
	}
	if flags.resume != "" {
		return p.resumeRun(cmd, flags)
	}
	if len(patterns) == 0 && !cmd.Flags().Changed("budget") {
		flags.budget = firstLookBudget
	}
	entries, err := p.selected(cmd, patterns)
	if err != nil {
		return err
	}
	if entries, err = p.choose(cmd, entries, lab.Choice{Patterns: patterns, Budget: flags.budget}); err != nil {
		return err
	}
	var both sides
	measured := "" // the commit, where it is not this program's
	if !flags.one() && !flags.list {
		if both, err = buildSides(cmd, vary, flags.layouts); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, both.close()) }()
		entries, measured = lab.Against(entries, both.old, both.now), both.now.Commit
	}
	plan := lab.NewPlan(entries, flags.budget)
	if flags.list {
		fmt.Fprintln(cmd.ErrOrStderr(), plan.Describe(flags.budget))
		return listRows(cmd.OutOrStdout(), entries)
	}
	if err := flags.fits(&plan); err != nil {
		return err
	}
	rec, out, err := newRun(plan, record.Run{
		Patterns: patterns, Seed: flags.seed, Precision: float64(flags.precision), Budget: flags.budget, World: flags.world, GOMAXPROCS: flags.cpu, Commit: cmp.Or(measured, commit(cmd.Context())),
		Vary: both.vary, Warnings: both.told,
	}, flags.out, "")
	if err != nil {
		return err
	}
	say(cmd, "%s", plan.Describe(flags.budget))
	rec.Machine.Go = cmp.Or(both.release, rec.Machine.Go)
	sayCalibrations(cmd, plan.Entries, &rec.Machine)
	return p.measure(cmd, plan.All(), rec, out, &flags)
}

// unfinished is the record of a run to continue, its file, and for how long.
func unfinished(cmd *cobra.Command, file string, given time.Duration) (name string, rec *record.Record, budget time.Duration, err error) {
	// The record that "latest" points at is written to, not the link.
	if name, err = filepath.EvalSymlinks(file); err != nil {
		return "", nil, 0, fmt.Errorf("--resume: %w", err)
	}
	if rec, err = record.Load(name); err != nil {
		return "", nil, 0, err
	}
	budget = rec.Run.Budget - rec.Run.Elapsed
	if cmd.Flags().Changed("budget") {
		budget = given
	} else if rec.Run.Complete {
		return "", nil, 0, hinted(fmt.Errorf("%s: the run is complete", name), "give --budget to measure it further")
	}
	return name, rec, max(budget, 0), nil
}

// resumeRun continues a run that was not completed.
func (p program) resumeRun(cmd *cobra.Command, flags runFlags) (err error) {
	name, rec, budget, err := unfinished(cmd, flags.resume, flags.budget)
	if err != nil {
		return err
	}
	if isBench(rec) {
		return hinted(fmt.Errorf("%s is a record of `postage bench`", name), "postage bench --resume "+flags.resume)
	}
	if flags.gate && !verdict.IsAgainst(rec) {
		return hinted(fmt.Errorf("--gate: %s was made without --against", name), "begin another run: `postage run --against main --gate`")
	}
	all, machine := lab.Entries(lab.WithCases(p.suites, rec.Cases())), record.ThisMachine(0)
	if rec.Run.Vary != "" {
		vary, wrong := bench.ParseVariation(rec.Run.Vary)
		if wrong != nil {
			return fmt.Errorf("%s: %w", name, wrong)
		}
		both, wrong := buildSides(cmd, vary, max(1, rec.Run.Layouts))
		if wrong != nil {
			return wrong
		}
		defer func() { err = errors.Join(err, both.close()) }()
		all, machine.Go = lab.Against(all, both.old, both.now), both.release
	}
	entries, err := lab.Resume(rec, all, machine, budget)
	if err != nil {
		return err
	}
	if entries, err = p.choose(cmd, entries, lab.Choice{Patterns: rec.Run.Patterns, Resumed: true}); err != nil {
		return err
	}
	if err := record.Reserve(name); err != nil {
		return err
	}
	say(cmd, "resuming %s, which has %d blocks, for %v", name, len(rec.Blocks), budget.Round(time.Second))
	return p.measure(cmd, entries, rec, name, &flags)
}

// measure runs the conductor, saves the record and prints it; of an interrupted run, what was
// finished.
func (p program) measure(cmd *cobra.Command, entries []lab.Entry, rec *record.Record, out string, flags *runFlags) error {
	if err := conduct(cmd, lab.Conductor{}, entries, rec, out); err != nil && !errors.Is(err, lab.ErrInterrupted) {
		return err
	} else if err != nil {
		say(cmd, "interrupted; to resume: postage run --resume %s%s", out, again(cmd))
		return errors.Join(err, p.printRun(cmd, rec, flags))
	}
	pointLatest(out)
	say(cmd, "record saved as %s", out)
	if err := p.printRun(cmd, rec, flags); err != nil {
		return err
	}
	if len(rec.Blocks) == 0 {
		return errors.New("nothing was measured: the rows say why")
	}
	return nil
}

// newRun makes the record of a run that is about to begin, and room for it in the file out;
// for "" in one of its own, whose name begins with prefix.
func newRun(plan lab.Plan, run record.Run, out, prefix string) (*record.Record, string, error) {
	started := time.Now()
	if out == "" {
		if err := hideRuns(); err != nil {
			return nil, "", err
		}
		out = newRecordName(prefix, started)
	}
	if err := record.Reserve(out); err != nil {
		return nil, "", err
	}
	run.Started = started.UTC().Truncate(time.Second)
	return lab.NewRecord(plan, run, record.ThisMachine(200*time.Millisecond)), out, nil
}

// conduct has the conductor measure, with workers started with the arguments, and shows its
// progress on standard error: of a calibration, on a terminal only. Services that the entries need
// run meanwhile.
func conduct(cmd *cobra.Command, conductor lab.Conductor, entries []lab.Entry, rec *record.Record, out string, arguments ...string) (err error) {
	if conductor.Command, err = proc.Self(append([]string{"worker"}, arguments...)...); err != nil {
		return err
	}
	environment, stop := lab.StartServices(cmd.Context(), entries, rec, cmd.ErrOrStderr())
	defer func() { err = errors.Join(err, stop()) }()
	view := newView(cmd.ErrOrStderr())
	defer view.erase()
	conductor.Environment = environment
	conductor.Save = func(rec *record.Record) error { return rec.Save(out) }
	conductor.Observe = func(s lab.Status) {
		switch {
		case s.Note == "" && (conductor.Together == 0 || !s.Finished):
			view.observe(s)
		case conductor.Together == 0:
			view.erase()
			say(cmd, "%s", s.Note)
		}
	}
	return conductor.Run(cmd.Context(), entries, rec)
}

// say tells the user something that is not the result.
func say(cmd *cobra.Command, format string, a ...any) {
	name := cmd.Root().Name()
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", name, called(name, fmt.Sprintf(format, a...)))
}

// commit is the one that this program was built from, "" if it is not known. "go run" does not
// store it in the program, but has just built it: git knows the commit if the current folder is in
// the source.
func commit(ctx context.Context) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		if settings["vcs.modified"] == "true" {
			revision += build.Dirty
		}
		return revision
	}
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	root, ok := sourceOf(ctx, info)
	if !ok {
		return ""
	}
	cache, err := build.Output(ctx, "", "go", "env", "GOCACHE")
	if err != nil || !strings.HasPrefix(program, filepath.Join(os.TempDir(), "go-build")) && !strings.HasPrefix(program, cache+string(filepath.Separator)) {
		return "" // built at another time, perhaps from other code
	}
	source, err := build.WorkingTree(ctx, root)
	if err != nil {
		return ""
	}
	return source.Commit
}

// percent is a flag such as "1%" or "0.01".
type percent float64

func (p *percent) String() string { return strconv.FormatFloat(float64(*p)*100, 'g', 4, 64) + "%" }
func (p *percent) Type() string   { return "percent" }
func (p *percent) Set(s string) error {
	number, isPercent := strings.CutSuffix(s, "%")
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return errors.New("want a percentage such as 1%")
	}
	if isPercent {
		value /= 100
	}
	if !(value > 0 && value < 1) {
		return errors.New("want a percentage above 0% and below 100%")
	}
	*p = percent(value)
	return nil
}
