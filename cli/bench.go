package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/bench"
	"postage/internal/feature/build"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// benchFlags are the flags of `postage bench`.
type benchFlags struct {
	measureFlags
	bench      string
	tests      string
	thresholds string
	patience   time.Duration
	all, count bool
}

func benchCommand() *cobra.Command {
	var flags benchFlags
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
be measured; 130 interrupted. With --gate: 0 all passed, 1 some regressed,
2 there is no answer, 3 inconclusive, as with too little time.`,
		Example: `  postage bench ./... --against main
  postage bench -bench 'Marshal|Unmarshal' encoding/json
  postage bench ./codec --against HEAD~1 --gate --markdown
  postage bench --resume .postage/runs/latest --budget 10m`,
		RunE: func(cmd *cobra.Command, args []string) error { return runBench(cmd, args, &flags) },
	}
	flags.register(cmd)
	return cmd
}

// register adds the flags to the command.
func (flags *benchFlags) register(cmd *cobra.Command) {
	flags.measureFlags.register(cmd, 0)
	f := cmd.Flags()
	f.Lookup("layouts").Usage += " (default 16 for up to 4 packages, else 8)"
	f.StringVar(&flags.bench, "bench", ".", "measure the benchmarks that match the regular `expression`, as go test has it")
	f.StringVar(&flags.tests, "tests", "new", "`which` tests the old code runs: new for the new side's, where they build and run there; own for its own")
	f.BoolVar(&flags.all, "all", false, "with --against, measure packages too whose code is the same on both sides")
	f.DurationVar(&flags.patience, "timeout", time.Minute, "time after which a benchmark that does not answer counts as hanging")
	f.StringVar(&flags.thresholds, "thresholds", "", thresholdsUsage)
	f.BoolVar(&flags.count, "count", false, "count instructions, by Valgrind, in place of time: to about 0.1%, on a busy machine too; with --gate, a benchmark\nmay execute 0.5% more, or four standard errors of the difference (instructions in --thresholds)")
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
	for _, other := range []string{"layouts", "out", "resume"} {
		cmd.MarkFlagsMutuallyExclusive("count", other)
	}
}

// unlikeGo says what takes the place of flags of go test.
var unlikeGo = map[string]string{
	"--tags": "put it into GOFLAGS: GOFLAGS=-tags=…", "--count": "it is a switch here, which counts instructions; blocks repeat until the interval is within --precision, or --budget is used up",
	"--benchtime": "batches take 5 to 10 ms each: --budget is the time of all", "--benchmem": "bytes and allocations are always measured",
	"--list": "`go test -list Benchmark ./...` lists them", "--cpu": "set it for all: GOMAXPROCS=4 postage bench …; --vary GOMAXPROCS=1,4 compares two",
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

func isBench(rec *record.Record) bool {
	return slices.ContainsFunc(rec.Rows, func(r record.Row) bool { return r.Stage == bench.Stage })
}

// whatIsMeasured are the flags that say what both sides measure. The run's record keeps them.
var whatIsMeasured = []string{"bench", "all", "tests"}

// check refuses flags that do not go together.
func (flags *benchFlags) check(cmd *cobra.Command, packages []string) error {
	switch {
	case flags.count && (strings.HasPrefix(flags.vary, "GOGC=") || strings.HasPrefix(flags.vary, "GOMAXPROCS=")):
		return hinted(errors.New("--count runs with GOGC=off and GOMAXPROCS=1: --vary cannot set them"), "without --count, their times are compared")
	case flags.tests != "new" && flags.tests != "own":
		return fmt.Errorf("--tests %s: want new or own", flags.tests)
	}
	return flags.measureFlags.check(cmd, packages, whatIsMeasured...)
}

// arguments returns the packages and flags that a run's record keeps.
func (flags *benchFlags) arguments(cmd *cobra.Command, packages []string) []string {
	kept := slices.Clone(packages)
	for _, name := range whatIsMeasured {
		if value := cmd.Flags().Lookup(name).Value.String(); value != "" && value != "false" {
			kept = append(kept, "-"+name+"="+value)
		}
	}
	return kept
}

// limits are the thresholds, for counts with --count.
func (flags *benchFlags) limits() (verdict.Thresholds, error) {
	defaults := verdict.DefaultThresholds()
	if flags.count {
		defaults = bench.CountThresholds()
	}
	limits, err := loadThresholds(flags.thresholds, defaults)
	if err == nil && flags.count && len(limits.Metrics) > 0 {
		err = hinted(fmt.Errorf("%s: metrics: --count counts instructions, bytes and allocations", flags.thresholds), "without --count, metrics are gated")
	}
	return limits, err
}

// options say what to measure.
func (flags *benchFlags) options(cmd *cobra.Command, packages []string) (bench.Options, error) {
	vary, err := flags.variation()
	if err != nil {
		return bench.Options{}, err
	}
	options := bench.Options{
		Folder: ".", Patterns: packages, Bench: flags.bench, Vary: vary, OwnTests: flags.tests == "own", All: flags.all, Layouts: flags.layouts, Patience: flags.patience,
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

func runBench(cmd *cobra.Command, packages []string, flags *benchFlags) (err error) {
	if err := flags.check(cmd, packages); err != nil {
		return err
	}
	limits, err := flags.limits()
	if err != nil {
		return err
	}
	m, err := flags.toMeasure(cmd, &packages)
	if err != nil {
		return err
	}
	options, err := flags.options(cmd, packages)
	if err != nil {
		return err
	}
	set, err := bench.New(cmd.Context(), options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if strings.HasSuffix(set.Now().Source.Commit, build.Dirty) && !flags.one() {
		say(cmd, "the new side is the working tree, with changes that are not committed")
	}
	run := record.Run{Patterns: flags.arguments(cmd, packages)}
	if set.Same != "" {
		run.Warnings = []string{set.Same}
	}
	run.Warnings = append(run.Warnings, set.Warnings...)
	tell(cmd, run.Warnings)
	tell(cmd, set.Told())
	switch {
	case len(set.Entries) == 0 && !set.Passes():
		return errors.New(strings.Join(append([]string{"there is no benchmark to measure"}, set.Notes...), "\n"))
	case flags.count:
		return countBench(cmd, set, flags, limits)
	}
	if err := flags.begin(cmd, m, set.Entries, set.Sides, "bench-", run); err != nil {
		return err
	}
	return m.measure(cmd, lab.Conductor{SetUpPatience: flags.patience, BatchPatience: flags.patience}, func(whole bool) error {
		return printBench(cmd, m.rec, set, flags, limits, whole)
	})
}

// toMeasure returns a new run, or the one to resume, whose flags and packages it takes.
func (flags *benchFlags) toMeasure(cmd *cobra.Command, packages *[]string) (m *measurement, err error) {
	m = new(measurement)
	if flags.resume != "" {
		if m, err = flags.unfinished(cmd); err != nil {
			return nil, err
		}
		for _, argument := range m.rec.Run.Patterns {
			flag, value, isFlag := strings.Cut(strings.TrimPrefix(argument, "-"), "=")
			if !isFlag || !strings.HasPrefix(argument, "-") {
				*packages = append(*packages, argument)
			} else if err := cmd.Flags().Set(flag, value); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", flags.resume, argument, err)
			}
		}
	}
	if len(*packages) == 0 {
		*packages = []string{"."}
	}
	return m, nil
}

// benchChanges compares the sides of a run of benchmarks. It is nil if there is one side.
func benchChanges(rec *record.Record, limits verdict.Thresholds) *verdict.Changes {
	if !verdict.IsAgainst(rec) {
		return nil
	}
	return verdict.ComparePaired(rec, limits)
}

// printBench prints what was measured, and for a whole run returns its status.
func printBench(cmd *cobra.Command, rec *record.Record, set *bench.Set, flags *benchFlags, limits verdict.Thresholds, whole bool) error {
	changes := benchChanges(rec, limits)
	if changes != nil {
		changes.Lost = changes.Lost || len(set.Lost) > 0
		if flags.JSON {
			changes.Warnings = append(changes.Warnings, set.Notes...)
		}
	}
	if err := bench.Print(cmd.OutOrStdout(), rec, changes, set.Notes, flags.form(cmd)); err != nil || !whole {
		return err
	}
	return benchStatus(cmd, rec, changes, set.Lost, flags.gate)
}

// benchStatus is the error that decides the exit code. lost is what the new code cannot be measured
// of.
func benchStatus(cmd *cobra.Command, rec *record.Record, changes *verdict.Changes, lost []string, gated bool) error {
	if gated {
		if err := gate(cmd, changes, lost); err != nil {
			return err
		}
	}
	failed := func(row record.Row) bool { return !row.OK() }
	switch {
	case len(rec.Blocks) == 0 && len(rec.Rows) > 0:
		return errNothing
	case len(lost) == 0 && !slices.ContainsFunc(rec.Rows, failed):
		return nil
	case gated:
		return errors.New("some row could not be measured: the lines above say why")
	}
	return errFailedRow
}
