package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/bench"
	"postage/internal/build"
	"postage/internal/report"
	"postage/internal/verdict"
	"postage/internal/words"
	"postage/lab"
	"postage/record"
)

// benchFlags are the flags of `postage bench`.
type benchFlags struct {
	bench, against, bisect, old, new string
	column, baseline                 string
	out, thresholds, resume          string
	budget, patience                 time.Duration
	precision                        percent
	seed                             uint64
	cpus                             []int
	layouts                          int
	json, markdown, gate, list, all  bool
	profile, wide                    bool
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
	f := cmd.Flags()
	f.StringVar(&flags.bench, "bench", ".", "measure the benchmarks that match the regular `expression`, as go test has it")
	f.StringVar(&flags.against, "against", "", "compare with the code of the git `revision`")
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
	f.BoolVar(&flags.profile, "profile", false, "profile both sides of the benchmarks that changed, in more processes, and keep the profiles beside the record")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	f.BoolVar(&flags.markdown, "markdown", false, "print Markdown, as a comment that can be found again and replaced")
	f.BoolVar(&flags.wide, "wide", false, "print all columns, however wide")
	f.BoolVar(&flags.list, "list", false, "print the benchmarks, and measure nothing")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		for name, instead := range unlikeGo {
			if strings.HasSuffix(err.Error(), "unknown flag: "+name) {
				return hinted(err, instead)
			}
		}
		return err
	})
	cmd.MarkFlagsMutuallyExclusive("json", "markdown", "wide")
	for _, other := range []string{"against", "gate", "json", "markdown", "list", "out", "cpu", "profile", "resume"} {
		cmd.MarkFlagsMutuallyExclusive("bisect", other)
	}
	return cmd
}

// unlikeGo says what takes the place of flags of go test.
var unlikeGo = map[string]string{
	"--tags": "put it into GOFLAGS: GOFLAGS=-tags=…", "--count": "blocks repeat until the interval is within --precision, or --budget is used up",
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
		if goFlag.MatchString(arg) {
			args[i] = "-" + arg
		}
	}
	return args
}

// benchRun is a run of benchmarks to resume.
type benchRun struct {
	name     string // the record's file
	rec      *record.Record
	budget   time.Duration
	packages []string
}

// whatIsMeasured are the flags that say what a run measures. The run's record keeps them.
var whatIsMeasured = []string{"bench", "against", "col", "baseline", "old", "new", "cpu", "all"}

// arguments returns the packages and flags that a run's record keeps.
func (f *benchFlags) arguments(cmd *cobra.Command, packages []string, against string) []string {
	kept := slices.Clone(packages)
	for _, name := range whatIsMeasured {
		value := cmd.Flags().Lookup(name).Value.String()
		switch {
		case name == "against":
			value = against // what a branch names may be another commit later
		case name == "cpu":
			value = strings.Trim(value, "[]")
		}
		if value != "" && value != "false" {
			kept = append(kept, "-"+name+"="+value)
		}
	}
	return kept
}

// benchToResume loads the record and sets the flags as they were.
func benchToResume(cmd *cobra.Command, packages []string, flags *benchFlags) (*benchRun, error) {
	for _, name := range append([]string{"layouts", "seed", "precision", "out", "list"}, whatIsMeasured...) {
		if cmd.Flags().Changed(name) || len(packages) > 0 {
			return nil, hinted(errors.New("--resume takes its settings from the record: it cannot be combined with packages or flags that say what to measure"),
				"it can be combined with --budget, --timeout, --gate, --thresholds, --profile, --json and --markdown")
		}
	}
	of := &benchRun{}
	var err error
	if of.name, of.rec, of.budget, err = unfinished(cmd, flags.resume, flags.budget); err != nil {
		return nil, err
	}
	if !isBench(of.rec) {
		return nil, hinted(fmt.Errorf("%s is not a record of `postage bench`", of.name), "postage run --resume "+flags.resume)
	}
	for _, argument := range of.rec.Run.Patterns {
		name, value, isFlag := strings.Cut(strings.TrimPrefix(argument, "-"), "=")
		if !isFlag || !strings.HasPrefix(argument, "-") {
			of.packages = append(of.packages, argument)
		} else if err := cmd.Flags().Set(name, value); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", of.name, argument, err)
		}
	}
	if flags.new != "" {
		of.packages = nil
	}
	flags.layouts = max(1, of.rec.Run.Layouts)
	return of, cmd.Flags().Set("layouts", strconv.Itoa(flags.layouts))
}

func isBench(rec *record.Record) bool {
	return slices.ContainsFunc(rec.Rows, func(r record.Row) bool { return r.Stage == bench.Stage })
}

// runBench measures. The run is the one to resume, nil for a new one.
func runBench(cmd *cobra.Command, packages []string, flags benchFlags, resumed *benchRun) (err error) {
	switch {
	case flags.budget <= 0:
		return fmt.Errorf("--budget %v: must be more than 0", flags.budget)
	case flags.layouts < 0 || flags.layouts == 0 && cmd.Flags().Changed("layouts"):
		return fmt.Errorf("--layouts %d: must be at least 1", flags.layouts)
	case flags.gate && flags.against == "" && flags.old == "":
		return hinted(errors.New("--gate compares with a revision, and there is none"), "add --against main, or whatever the code is to be compared with")
	case flags.profile && flags.against == "" && flags.old == "":
		return hinted(errors.New("--profile is of benchmarks that changed, and there is nothing to compare with"), "add --against main, or use `go test -cpuprofile`")
	case flags.old != "" && flags.new == "", flags.new != "" && (flags.against != "" || flags.bisect != "" || len(packages) > 0):
		return hinted(errors.New("--new is measured alone or beside --old, and neither goes with packages, --against or --bisect"), "postage bench --old old.test --new new.test")
	case (flags.column == "") != (flags.baseline == "") || flags.column != "" && (flags.against != "" || flags.old != "" || flags.bisect != "" || len(flags.cpus) > 0):
		return hinted(errors.New("--col goes with --baseline, and with none of --against, --old, --bisect and --cpu"), "postage bench ./codec --col /codec --baseline codec=json")
	case slices.ContainsFunc(flags.cpus, func(n int) bool { return n < 1 }):
		return fmt.Errorf("--cpu %v: must be at least 1", flags.cpus)
	}
	limits, err := loadThresholds(flags.thresholds)
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		packages = []string{"."}
	}
	column := strings.TrimPrefix(flags.column, "/")
	options := bench.Options{
		Folder: ".", Patterns: packages, Bench: flags.bench, Against: flags.against, All: flags.all, Old: flags.old, New: flags.new,
		Column: column, Baseline: strings.TrimPrefix(flags.baseline, column+"="), CPUs: slices.Compact(slices.Sorted(slices.Values(flags.cpus))), Layouts: flags.layouts, Patience: flags.patience,
		Say: func(format string, a ...any) { say(cmd, ""+format, a...) },
	}
	if flags.bisect != "" {
		return bisect(cmd, options, flags)
	}
	set, err := bench.New(cmd.Context(), options)
	if cmd.Context().Err() != nil {
		return lab.ErrInterrupted
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if strings.HasSuffix(set.Commit, build.Dirty) && flags.against != "" {
		say(cmd, "the new side is the working tree, with changes that are not committed")
	}
	said := slices.DeleteFunc([]string{set.Same, set.Differ}, func(line string) bool { return line == "" })
	for _, line := range said {
		say(cmd, "%s", line)
	}
	if flags.list {
		return listBench(cmd, set)
	}
	if len(set.Entries) == 0 && (len(set.Notes) > 0 || set.Same == "") {
		return errors.New(strings.Join(append([]string{"there is no benchmark to measure"}, set.Notes...), "\n"))
	}
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
	}
	if err := printBench(cmd, rec, changes, set.Notes, flags); err != nil || interrupted != nil {
		return errors.Join(err, interrupted)
	}
	if flags.profile {
		if err := profileBench(cmd, set, changes, strings.TrimSuffix(out, ".txt")+"-profiles", flags); err != nil {
			return err
		}
	}
	return benchStatus(cmd, rec, changes, flags.gate)
}

// beginBench returns what to measure, the record, and the record's file.
func beginBench(cmd *cobra.Command, set *bench.Set, packages, said []string, flags benchFlags, resumed *benchRun) ([]lab.Entry, *record.Record, string, error) {
	if resumed == nil {
		plan := lab.NewPlan(set.Entries, flags.budget)
		rec, out, err := newRun(plan, record.Run{
			Patterns: flags.arguments(cmd, packages, set.OldCommit), Seed: flags.seed, Precision: float64(flags.precision), Budget: flags.budget, Commit: set.Commit,
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
	form := report.Form{JSON: flags.json, Markdown: flags.markdown, Wide: flags.wide, Color: colorful(cmd)}
	switch {
	case flags.column != "" && !flags.json:
		if !flags.markdown {
			for _, note := range notes {
				say(cmd, "not compared: %s", note)
			}
		}
		return report.Record(cmd.OutOrStdout(), rec, nil, form)
	case flags.json && changes != nil:
		changes.Warnings = append(changes.Warnings, notes...)
	}
	return report.Bench(cmd.OutOrStdout(), rec, changes, notes, form)
}

// mostProfiled is how many benchmarks are profiled. Each takes about 10 s.
const mostProfiled = 10

// profileBench profiles the benchmarks that changed, the most important first, and prints which
// functions moved.
func profileBench(cmd *cobra.Command, set *bench.Set, changes *verdict.Changes, folder string, flags benchFlags) error {
	profiled := 0
	for i := range changes.Rows {
		r := &changes.Rows[i]
		if !report.BenchChanged(r) {
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
		if flags.json {
			say(cmd, "profiles saved as %s and %s", p.Old, p.New)
		} else {
			err = p.Print(cmd.OutOrStdout(), report.Form{Markdown: flags.markdown, Color: colorful(cmd)})
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

// benchStatus returns the error that decides the exit code.
func benchStatus(cmd *cobra.Command, rec *record.Record, changes *verdict.Changes, gate bool) error {
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
	case lost > 0:
		return errFailedRow
	default:
		return nil
	}
	if err := answers(cmd, changes); err != nil {
		return err
	}
	if err := gateStatus(changes); err != nil {
		return err
	}
	if lost > 0 {
		return hinted(fmt.Errorf("%s could not be measured", words.Counted(lost, "row")), "the lines above say why")
	}
	return nil
}
