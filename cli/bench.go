package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/bench"
	"postage/internal/build"
	"postage/internal/show"
	"postage/internal/verdict"
	"postage/internal/words"
	"postage/lab"
	"postage/record"
)

// benchFlags are the flags of `postage bench`.
type benchFlags struct {
	formFlags
	sideFlags
	bench, bisect, old, new         string
	column, baseline                string
	out, thresholds, resume         string
	budget, patience                time.Duration
	precision                       percent
	seed                            uint64
	cpus                            []int
	layouts                         int
	gate, list, all, profile, count bool
}

func benchCommand() *cobra.Command {
	flags := benchFlags{precision: 0.01}
	cmd := &cobra.Command{
		Use:   "bench [PACKAGE...]",
		Short: "Measure any Go benchmarks, this tree's beside a revision's",
		Long: `Measures the Go benchmarks of the packages, in the module of the current folder or any that
it can name, as they stand. With --against, the same benchmarks as of a git revision take
turns with them, batch by batch; the working tree is not touched, and what is not
committed is measured with it.

A benchmark that fails, skips, hangs or ends its process is told in a line, and the
others are measured.

Exit status: 0 measured; 1 some benchmark could not be; 2 wrong usage, or nothing could
be measured; 130 interrupted. With --gate they are those of ` + "`postage compare --gate`" + `: 0 all
passed, 1 some regressed, 2 there is no answer, 3 inconclusive, which too little time is.`,
		Example: `  postage bench ./... --against main
  postage bench -bench 'Marshal|Unmarshal' encoding/json
  postage bench ./codec -col /codec -baseline codec=json
  postage bench ./codec -bench '^BenchmarkMarshal$' --bisect v1.2.0..main
  postage bench ./codec --against HEAD~1 --gate --profile --markdown
  postage bench --resume .postage/runs/latest --budget 10m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.resume == "" {
				return runBench(cmd, args, flags, nil)
			}
			of, err := benchToResume(cmd, args, &flags)
			if err != nil {
				return err
			}
			return runBench(cmd, of.packages, flags, of)
		},
	}
	flags.register(cmd)
	return cmd
}

// register adds the flags to the command.
func (flags *benchFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&flags.bench, "bench", ".", "measure the benchmarks that match the regular `expression`, as go test has it")
	flags.sideFlags.register(cmd)
	f.BoolVar(&flags.all, "all", false, "with --against, measure packages too whose code is the same on both sides")
	f.StringVar(&flags.column, "col", "", "compare sub-benchmarks with each other, those whose names differ in the value of this `key`: /codec")
	f.StringVar(&flags.baseline, "baseline", "", "the `value` of --col that the others are compared with: codec=json")
	f.StringVar(&flags.new, "new", "", "measure a test `binary` of go test -c, run in this folder, in place of packages")
	f.StringVar(&flags.old, "old", "", "compare with such a `binary`")
	f.StringVar(&flags.bisect, "bisect", "", "find the commit of the `range` GOOD..BAD at which the one benchmark changed")
	f.DurationVar(&flags.budget, "budget", 3*time.Minute, "total time that measuring may take")
	f.Var(&flags.precision, "precision", "half-width wanted of each ratio's interval, such as 1%")
	f.DurationVar(&flags.patience, "timeout", time.Minute, "time after which a benchmark that does not answer counts as hanging")
	f.Uint64Var(&flags.seed, "seed", record.DefaultSeed, "draws the order of batches and the layouts")
	f.IntSliceVar(&flags.cpus, "cpu", nil, "`list` of GOMAXPROCS to run each benchmark with, as go test has it")
	f.IntVar(&flags.layouts, "layouts", 0, "function layouts to build each test binary in, 1 for the linker's own alone\n(default 16 for up to 4 packages, else 8)")
	f.StringVar(&flags.out, "out", "", "`file` for the record (default a dated one in "+runsFolder+")")
	f.StringVar(&flags.resume, "resume", "", "go on with the run in `file`, in the folder where it was begun, with the budget it has left or the one given")
	f.BoolVar(&flags.gate, "gate", false, "fail if a benchmark regressed")
	f.StringVar(&flags.thresholds, "thresholds", "", thresholdsUsage)
	f.BoolVar(&flags.count, "count", false, "count instructions, by Valgrind, in place of time: to about 0.1%, on a busy machine too; with --gate, a benchmark\nmay execute 0.5% more, or four standard errors of the difference (instructions in --thresholds)")
	f.BoolVar(&flags.profile, "profile", false, "profile both sides of the benchmarks that changed, in more processes, and keep the profiles beside the record")
	flags.formFlags.register(cmd)
	f.BoolVar(&flags.list, "list", false, "print the benchmarks, and measure nothing")
	flags.exclude(cmd)
}

// exclude says which flags do not go together, and what takes the place of go test's.
func (flags *benchFlags) exclude(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		for name, instead := range unlikeGo {
			if strings.HasSuffix(err.Error(), "unknown flag: "+name) || strings.Contains(err.Error(), `for "`+name+`" flag`) {
				return hinted(err, instead)
			}
		}
		return err
	})
	for _, other := range []string{"bisect", "col", "cpu", "layouts", "list", "new", "profile"} {
		cmd.MarkFlagsMutuallyExclusive("count", other)
	}
	for _, other := range []string{"against", "vary", "gate", "json", "markdown", "list", "out", "cpu", "profile", "resume"} {
		cmd.MarkFlagsMutuallyExclusive("bisect", other)
	}
}

// unlikeGo says what takes the place of flags of go test.
var unlikeGo = map[string]string{
	"--tags": "put it into GOFLAGS: GOFLAGS=-tags=…", "--count": "it is a switch here, which counts instructions; blocks repeat until the interval is within --precision, or --budget is used up",
	"--benchtime": "batches take 5 to 10 ms each: --budget is the time of all", "--benchmem": "bytes and allocations are always measured",
}

// goFlag is a flag as go test has them, with one dash.
var goFlag = regexp.MustCompile(`^-[a-z]{2,}`)

// asGoFlags adds a second dash to flags of `postage bench` that have only one, because people write
// them so for go test.
func asGoFlags(args []string) []string {
	if len(args) == 0 || args[0] != "bench" {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if goFlag.MatchString(arg) && (i == 0 || strings.TrimLeft(args[i-1], "-") != "vary") {
			args[i] = "-" + arg
		}
	}
	return args
}

// one reports whether there is one side, and nothing to compare.
func (flags *benchFlags) one() bool { return flags.sideFlags.one() && flags.old == "" }

func isBench(rec *record.Record) bool {
	return slices.ContainsFunc(rec.Rows, func(r record.Row) bool { return r.Stage == bench.Stage })
}

// check refuses flags that do not go together.
func (flags *benchFlags) check(cmd *cobra.Command, packages []string) error {
	switch {
	case flags.budget <= 0:
		return fmt.Errorf("--budget %v: must be more than 0", flags.budget)
	case flags.layouts < 0 || flags.layouts == 0 && cmd.Flags().Changed("layouts"):
		return fmt.Errorf("--layouts %d: must be at least 1", flags.layouts)
	case flags.gate && flags.one():
		return hinted(errors.New("--gate compares with a revision, and there is none"), "add --against main, or whatever the code is to be compared with")
	case flags.profile && flags.one():
		return hinted(errors.New("--profile is of benchmarks that changed, and there is nothing to compare with"), "add --against main, or use `go test -cpuprofile`")
	case flags.old != "" && flags.new == "", flags.new != "" && (flags.against != "" || flags.vary != "" || flags.bisect != "" || len(packages) > 0):
		return hinted(errors.New("--new is measured alone or beside --old, and neither goes with packages, --against, --vary or --bisect"), "postage bench --old old.test --new new.test")
	case (flags.column == "") != (flags.baseline == "") || flags.column != "" && (!flags.one() || flags.bisect != "" || len(flags.cpus) > 0):
		return hinted(errors.New("--col goes with --baseline, and with none of --against, --vary, --old, --bisect and --cpu"), "postage bench ./codec --col /codec --baseline codec=json")
	case flags.count && (strings.HasPrefix(flags.vary, "GOGC=") || strings.HasPrefix(flags.vary, "GOMAXPROCS=")):
		return hinted(errors.New("--count runs with GOGC=off and GOMAXPROCS=1: --vary cannot set them"), "without --count, their times are compared")
	case slices.ContainsFunc(flags.cpus, func(n int) bool { return n < 1 }):
		return fmt.Errorf("--cpu %v: must be at least 1", flags.cpus)
	}
	return nil
}

// limits are the thresholds: those of counts for --count.
func (flags *benchFlags) limits() (verdict.Thresholds, error) {
	if flags.count {
		return loadThresholds(flags.thresholds, verdict.CountThresholds())
	}
	return loadThresholds(flags.thresholds, verdict.DefaultThresholds())
}

// options say what to measure.
func (flags *benchFlags) options(cmd *cobra.Command, packages []string) (bench.Options, error) {
	column := strings.TrimPrefix(flags.column, "/")
	vary, err := flags.variation()
	if err != nil {
		return bench.Options{}, err
	}
	options := bench.Options{
		Folder: ".", Patterns: packages, Bench: flags.bench, Vary: vary, All: flags.all, Old: flags.old, New: flags.new,
		Column: column, Baseline: strings.TrimPrefix(flags.baseline, column+"="), CPUs: slices.Compact(slices.Sorted(slices.Values(flags.cpus))), Layouts: flags.layouts, Patience: flags.patience,
		Say: func(format string, a ...any) { say(cmd, format, a...) },
	}
	if flags.count {
		options.Layouts = 1 // where a function lies changes no count
		if _, err := bench.Valgrind(); err != nil {
			return bench.Options{}, err
		}
	}
	return options, nil
}

// runBench measures. The run is the one to resume, nil for a new one.
func runBench(cmd *cobra.Command, packages []string, flags benchFlags, resumed *benchRun) (err error) {
	if err := flags.check(cmd, packages); err != nil {
		return err
	}
	limits, err := flags.limits()
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		packages = []string{"."}
	}
	options, err := flags.options(cmd, packages)
	if err != nil {
		return err
	}
	if flags.bisect != "" {
		return bisect(cmd, options, flags)
	}
	set, err := bench.New(cmd.Context(), options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if strings.HasSuffix(set.Commit, build.Dirty) && !flags.one() {
		say(cmd, "the new side is the working tree, with changes that are not committed")
	}
	said := set.Told
	if set.Same != "" {
		said = append([]string{set.Same}, said...)
	}
	for _, line := range said {
		say(cmd, "%s", line)
	}
	if flags.list {
		return listBench(cmd, set)
	}
	if len(set.Entries) == 0 && (len(set.Notes) > 0 || set.Same == "") {
		return errors.New(strings.Join(append([]string{"there is no benchmark to measure"}, set.Notes...), "\n"))
	}
	if flags.count {
		return countBench(cmd, set, packages, flags, resumed, limits)
	}
	return measureBench(cmd, set, packages, said, flags, resumed, limits)
}

// measureBench measures the set and prints what it found.
func measureBench(cmd *cobra.Command, set *bench.Set, packages, said []string, flags benchFlags, resumed *benchRun, limits verdict.Thresholds) error {
	entries, rec, out, err := beginBench(cmd, set, packages, said, flags, resumed)
	if err != nil {
		return err
	}
	interrupted := conduct(cmd, lab.Conductor{SetUpPatience: flags.patience, BatchPatience: flags.patience}, entries, rec, out)
	if interrupted != nil && !errors.Is(interrupted, lab.ErrInterrupted) {
		return interrupted
	}
	pointLatest(out)
	if interrupted != nil {
		say(cmd, "interrupted; to resume: postage bench --resume %s", out)
	} else {
		say(cmd, "record saved as %s", out)
	}
	var changes *verdict.Changes
	if verdict.IsAgainst(rec) {
		changes = verdict.ComparePaired(rec, limits)
		changes.Lost = len(set.Lost) > 0
	}
	if err := printBench(cmd, rec, changes, set.Notes, flags); err != nil || interrupted != nil {
		return errors.Join(err, interrupted)
	}
	if flags.profile {
		if err := profileBench(cmd, set, changes, strings.TrimSuffix(out, ".txt")+"-profiles", flags); err != nil {
			return err
		}
	}
	return benchStatus(cmd, rec, changes, set.Lost, flags.gate)
}

// beginBench returns what to measure, the record, and the record's file.
func beginBench(cmd *cobra.Command, set *bench.Set, packages, said []string, flags benchFlags, resumed *benchRun) ([]lab.Entry, *record.Record, string, error) {
	if resumed == nil {
		plan := lab.NewPlan(set.Entries, flags.budget)
		rec, out, err := newRun(plan, record.Run{
			Patterns: flags.arguments(cmd, packages), Vary: set.Vary, Seed: flags.seed, Precision: float64(flags.precision), Budget: flags.budget, Commit: set.Commit,
		}, flags.out, "bench-")
		if err != nil {
			return nil, nil, "", err
		}
		if len(set.Entries) > 0 {
			say(cmd, "%s", plan.Describe(flags.budget))
		}
		rec.Run.Warnings = said
		if set.Go != "" { // not known of binaries
			rec.Machine.Go, rec.Run.Modules = set.Go, set.Modules
		}
		return plan.All(), rec, out, nil
	}
	rec := resumed.rec
	machine := record.ThisMachine(0)
	machine.Go = cmp.Or(set.Go, machine.Go)
	entries, err := lab.Resume(rec, set.Entries, machine, resumed.budget)
	if err == nil {
		err = record.Reserve(resumed.name)
	}
	if err == nil {
		say(cmd, "resuming %s, which has %d blocks, for %v", resumed.name, len(rec.Blocks), resumed.budget.Round(time.Second))
	}
	return entries, rec, resumed.name, err
}

func listBench(cmd *cobra.Command, set *bench.Set) error {
	for _, e := range set.Entries {
		if why := e.Contender.NotPossible; e.Old && why != "" {
			say(cmd, "%s at %s: %s", e.Case.Doc, e.Build.Name, why)
		}
		if e.Role != record.RoleBaseline {
			continue
		}
		line := e.Case.Doc
		if why := e.Contender.NotPossible; why != "" {
			line += "  " + why
		}
		fmt.Fprintln(cmd.OutOrStdout(), line)
	}
	for _, note := range set.Notes {
		say(cmd, "%s", note)
	}
	return nil
}

func printBench(cmd *cobra.Command, rec *record.Record, changes *verdict.Changes, notes []string, flags benchFlags) error {
	form := flags.form(cmd)
	switch {
	case flags.column != "" && !flags.JSON:
		if !flags.Markdown {
			for _, note := range notes {
				say(cmd, "not compared: %s", note)
			}
		}
		return show.Record(cmd.OutOrStdout(), rec, nil, form)
	case flags.JSON && changes != nil:
		changes.Warnings = append(changes.Warnings, notes...)
	}
	return bench.Print(cmd.OutOrStdout(), rec, changes, notes, form)
}

// mostProfiled is how many benchmarks are profiled. Each takes about 10 s.
const mostProfiled = 10

// profileBench profiles the benchmarks that changed, the most important first, and prints which
// functions moved.
func profileBench(cmd *cobra.Command, set *bench.Set, changes *verdict.Changes, folder string, flags benchFlags) error {
	profiled := 0
	for _, r := range changes.Rows {
		if !bench.Changed(r) {
			continue
		}
		if profiled++; profiled > mostProfiled {
			say(cmd, "more than %d benchmarks changed: the others are not profiled, -bench selects them", mostProfiled)
			break
		}
		slower := time.Duration(max(r.Old.NSOp.Value, r.New.NSOp.Value))
		p, err := set.Profile(cmd.Context(), r.New.Row.Case, slower, folder)
		if cmd.Context().Err() != nil {
			return lab.ErrInterrupted
		} else if err != nil {
			say(cmd, "%v", err)
			continue
		}
		if flags.JSON {
			say(cmd, "profiles saved as %s and %s", p.Old, p.New)
		} else {
			err = p.Print(cmd.OutOrStdout(), flags.form(cmd))
		}
		if err != nil {
			return err
		}
	}
	if profiled == 0 {
		say(cmd, "nothing changed, and nothing is profiled")
	}
	return nil
}

// noAnswer is an error if a gate has no answer for what the new code has lost.
func noAnswer(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	return hinted(fmt.Errorf("no answer for %s: the new code does not build there, or fails", strings.Join(missing, ", ")), "the lines above say why")
}

// benchStatus returns the error that decides the exit code.
func benchStatus(cmd *cobra.Command, rec *record.Record, changes *verdict.Changes, missing []string, gate bool) error {
	inconclusive := gate && changes.Outcome() == verdict.Inconclusive
	if len(rec.Blocks) == 0 && len(rec.Rows) > 0 && !inconclusive {
		return errors.New("nothing was measured: the rows say why")
	}
	lost := 0
	for i := range rec.Rows {
		if !rec.Rows[i].OK() {
			lost++
		}
	}
	switch {
	case gate:
	case lost+len(missing) > 0:
		return errFailedRow
	default:
		return nil
	}
	if err := cmp.Or(answers(cmd, changes), noAnswer(missing)); err != nil {
		return err
	}
	if err := gateStatus(changes.Outcome()); err != nil {
		return err
	}
	if lost > 0 {
		return hinted(fmt.Errorf("%s could not be measured", words.Counted(lost, "row")), "the lines above say why")
	}
	return nil
}
