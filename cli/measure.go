package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/build"
	"postage/internal/sys/machine"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// measureFlags are the flags that `run` and `bench` share.
type measureFlags struct {
	formFlags
	against, vary string
	budget        time.Duration
	precision     percent
	seed          uint64
	out, resume   string
	layouts       int
	gate          bool
}

// register adds the flags to a command. layouts is the default of --layouts.
func (f *measureFlags) register(cmd *cobra.Command, layouts int) {
	f.precision, f.seed = 0.01, record.DefaultSeed
	flags := cmd.Flags()
	flags.StringVar(&f.against, "against", "", "compare with the code of the git `revision`, which takes turns with this: --vary @revision,@;\nOLD..NEW takes two revisions")
	flags.StringVar(&f.vary, "vary", "", "compare two ways to build or run: `what` is GOGC=100,400 or GOTOOLCHAIN=go1.26.8,go1.27.0\n(any variable), -tags=,purego (a flag of go build) or @main,@\n(revisions; @ is the working tree)")
	flags.DurationVar(&f.budget, "budget", 3*time.Minute, "total time that measuring may take")
	flags.Var(&f.precision, "precision", "half-width wanted of each ratio's interval, such as 1%")
	flags.IntVar(&f.layouts, "layouts", layouts, "function layouts that each side's programs are built in, 1 for the linker's own alone")
	flags.StringVar(&f.out, "out", "", "`file` for the record (default a dated one in "+runsFolder+")")
	flags.StringVar(&f.resume, "resume", "", "continue the run in `file`, in the folder where it was begun, with its remaining budget or the one given")
	flags.BoolVar(&f.gate, "gate", false, "with two sides: fail if a row regressed, as compare --gate does")
	f.formFlags.register(cmd)
	cmd.MarkFlagsMutuallyExclusive("vary", "against")
}

// one reports whether there is one side, and nothing to compare.
func (f *measureFlags) one() bool { return f.against == "" && f.vary == "" }

// variation is what the sides differ in.
func (f *measureFlags) variation() (build.Variation, error) {
	switch {
	case strings.Contains(f.against, ".."):
		old, now, _ := strings.Cut(f.against, "..")
		if old == "" || now == "" || now[0] == '.' {
			return build.Variation{}, hinted(fmt.Errorf("--against %s: want a revision on both sides of two dots", f.against), "`--against main` has the working tree beside main")
		}
		return build.Variation{Values: []string{old, now}}, nil
	case f.against != "":
		return build.Variation{Values: []string{f.against, ""}}, nil
	case f.vary != "":
		return build.ParseVariation(f.vary)
	}
	return build.Variation{}, nil
}

// check refuses flags that do not go together. own are the command's own flags that say what it
// measures.
func (f *measureFlags) check(cmd *cobra.Command, patterns []string, own ...string) error {
	settings := append([]string{"out", "against", "vary", "layouts", "precision"}, own...)
	switch {
	case f.budget <= 0:
		return fmt.Errorf("--budget %v: must be more than 0", f.budget)
	case f.layouts < 1 && cmd.Flags().Changed("layouts"):
		return fmt.Errorf("--layouts %d: must be at least 1", f.layouts)
	case f.gate && f.one() && f.resume == "":
		return hinted(errors.New("--gate compares with a revision, and there is none"), "add --against main, or whatever the code is to be compared with")
	case f.resume != "" && (len(patterns) > 0 || slices.ContainsFunc(settings, cmd.Flags().Changed)):
		return hinted(fmt.Errorf("--resume takes its settings from the record: it cannot be combined with patterns, --%s", strings.Join(settings, ", --")), "--budget says for how long it goes on")
	}
	_, err := f.variation()
	return err
}

// A measurement is a run of `run` or `bench`, new or resumed.
type measurement struct {
	entries []lab.Entry
	rec     *record.Record
	out     string // the record's file
	resumed bool
	budget  time.Duration // if it is resumed
}

// unfinished is the run that --resume names, for the budget given or for what it has left. The flags
// take its sides.
func (f *measureFlags) unfinished(cmd *cobra.Command) (*measurement, error) {
	m := &measurement{resumed: true}
	var err error
	// The record that "latest" points at is written to, not the link.
	if m.out, err = filepath.EvalSymlinks(f.resume); err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	if m.rec, err = record.Load(m.out); err != nil {
		return nil, err
	}
	m.budget = max(0, m.rec.Run.Budget-m.rec.Run.Elapsed)
	if cmd.Flags().Changed("budget") {
		m.budget = f.budget
	} else if m.rec.Run.Complete {
		return nil, hinted(fmt.Errorf("%s: the run is complete", m.out), "give --budget to measure it further")
	}
	maker := "run"
	if isBench(m.rec) {
		maker = "bench"
	}
	if maker != cmd.Name() {
		return nil, hinted(fmt.Errorf("%s is not a record of `postage %s`", m.out, cmd.Name()), "postage "+maker+" --resume "+f.resume)
	}
	f.vary, f.layouts = m.rec.Run.Vary, max(1, m.rec.Run.Layouts)
	if f.gate && f.one() {
		return nil, hinted(fmt.Errorf("--gate: %s was made without --against", m.out), "begin another run, with --against main --gate")
	}
	return m, nil
}

// begin makes a new run's record and its file from the entries and run, or finds the entries of a
// resumed run. sides is nil if this program is measured.
func (f *measureFlags) begin(cmd *cobra.Command, m *measurement, entries []lab.Entry, sides *build.Sides, prefix string, run record.Run) (err error) {
	if m.resumed {
		return m.goOn(cmd, entries)
	}
	run.Seed, run.Precision, run.Budget = f.seed, float64(f.precision), f.budget
	if sides == nil {
		run.Commit = commit()
	} else {
		run.Commit, run.Vary = sides.Now().Source.Commit, sides.Text()
		run.Warnings = append(run.Warnings, sides.Told()...)
	}
	plan := lab.NewPlan(entries, f.budget)
	if m.rec, m.out, err = newRun(plan, run, f.out, prefix); err != nil {
		return err
	}
	if m.entries = plan.All(); len(m.entries) > 0 {
		say(cmd, "%s", plan.Describe(f.budget))
	}
	if sides != nil && sides.Now().Go != "" {
		m.rec.Machine.Go = sides.Now().Go
	}
	return nil
}

// goOn finds which entries a resumed run measures further.
func (m *measurement) goOn(cmd *cobra.Command, all []lab.Entry) (err error) {
	if m.entries, err = lab.Resume(m.rec, all, machine.Read(0), m.budget); err != nil {
		return err
	}
	say(cmd, "resuming %s, which has %d blocks, for %v", m.out, len(m.rec.Blocks), m.budget.Round(time.Second))
	return nil
}

// errNothing ends a command that has measured nothing.
var errNothing = errors.New("nothing was measured: the rows say why")

// measure runs the conductor, saves the record and has it printed. An interrupted run is not whole:
// print writes what was finished.
func (m *measurement) measure(cmd *cobra.Command, conductor lab.Conductor, print func(whole bool) error) error {
	interrupted := conduct(cmd, conductor, m.entries, m.rec, m.out)
	if interrupted != nil && !errors.Is(interrupted, lab.ErrInterrupted) {
		return interrupted
	}
	pointLatest(m.out)
	if interrupted == nil {
		say(cmd, "record saved as %s", m.out)
		return print(true)
	}
	say(cmd, "interrupted; to resume: postage %s --resume %s%s", cmd.Name(), m.out, suiteFlags(cmd))
	return errors.Join(interrupted, print(false))
}

// newRun makes the record of a run that is about to begin, and saves it in the file out. If out is "",
// it makes up a name that begins with prefix.
func newRun(plan lab.Plan, run record.Run, out, prefix string) (*record.Record, string, error) {
	started := time.Now()
	if out == "" {
		if err := hideRuns(); err != nil {
			return nil, "", err
		}
		out = newRecordName(prefix, started)
	}
	run.Started = started.UTC().Truncate(time.Second)
	rec := lab.NewRecord(plan, run, machine.Read(200*time.Millisecond))
	return rec, out, rec.Save(out)
}

// conduct has the conductor measure. Services that the entries need run meanwhile. It shows progress
// on standard error, for a calibration only on a terminal.
func conduct(cmd *cobra.Command, conductor lab.Conductor, entries []lab.Entry, rec *record.Record, out string) (err error) {
	if conductor.Command, err = proc.Self("worker"); err != nil {
		return err
	}
	environment, stop := lab.StartServices(cmd.Context(), entries, rec, cmd.ErrOrStderr())
	defer func() { err = errors.Join(err, stop()) }()
	view := newView(cmd.ErrOrStderr())
	defer view.erase()
	calibrates := len(rec.Rows) > 0 && rec.Rows[0].Stage == calibrationStage // hundreds of cases
	conductor.Environment = environment
	conductor.Save = func(rec *record.Record) error { return rec.Save(out) }
	conductor.Observe = func(s lab.Status) {
		switch {
		case s.Finished && calibrates:
		case s.Note == "":
			view.observe(s)
		default:
			view.erase()
			say(cmd, "%s", s.Note)
		}
	}
	return conductor.Run(cmd.Context(), entries, rec)
}

// percent is a flag such as "1%" or "0.01".
type percent float64

func (p *percent) String() string { return strconv.FormatFloat(float64(*p)*100, 'g', 4, 64) + "%" }
func (p *percent) Type() string   { return "percent" }
func (p *percent) Set(s string) error {
	value, err := parsePercent(s)
	if err != nil {
		return errors.New("want a percentage such as 1%")
	}
	if !(value > 0 && value < 1) {
		return errors.New("want a percentage above 0% and below 100%")
	}
	*p = percent(value)
	return nil
}
