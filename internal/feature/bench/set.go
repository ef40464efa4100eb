package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"postage/internal/feature/build"
	"postage/lab"
	"postage/record"
)

// Stage is the name of benchmarks' stage in records.
const Stage = "bench"

// Proof stands in a benchmark's row in place of a proof.
const Proof = "none, a Go benchmark"

// Options say what to measure.
type Options struct {
	Folder   string          // where the go command runs
	Patterns []string        // packages
	Bench    string          // regular expression, as go test -bench takes it
	Vary     build.Variation // what the sides differ in; one side without values
	OwnTests bool            // the old code runs its own tests, in place of the new side's
	All      bool            // packages too whose code is the same on both sides
	Layouts  int             // function layouts in which each test binary is built: 1 for the linker's own, 0 for as many as the packages leave time for
	Patience time.Duration
	Say      func(format string, a ...any) // called with what is being done
}

// Set has the benchmarks that were found, ready to be measured.
type Set struct {
	Entries []lab.Entry
	// Notes say what Entries leaves out: a package that does not build, a benchmark that only one
	// side has.
	Notes []string
	// Lost names what the new side cannot be measured of: a package that does not build there, and
	// beside an old side a benchmark that fails or is not reached on the new one only.
	Lost []string
	// Sides are what the benchmarks are built from; Close removes it.
	*build.Sides
	// Same says how much is not measured, as it is the same code on both sides; "" for nothing.
	Same string
	// harmless counts the notes that a gate passes: what only one side has, or both skip.
	harmless int
	// Warnings say which tests the old code runs where the sides' differ.
	Warnings []string
	cases    []string
	pairs    map[string]pair // by case; the old half has no binary where there is one side
}

// pair is a benchmark on both sides.
type pair struct{ now, old half }

type half struct {
	binary    *Binary
	benchmark Benchmark
}

// side is one side's packages and what was built of them.
type side struct {
	code       *build.Side
	packages   []Package
	binaries   map[string]*Binary // by package
	benchmarks map[string][]Benchmark
	failed     map[string]error // packages that do not build
}

// New finds the benchmarks, builds them, and runs each once.
func New(ctx context.Context, o Options) (set *Set, err error) {
	if _, err := regexp.Compile(o.Bench); err != nil {
		return nil, fmt.Errorf("-bench %s: %w", o.Bench, err)
	}
	set = &Set{pairs: map[string]pair{}}
	if set.Sides, err = o.Vary.Open(ctx, o.Folder); err != nil {
		return nil, err
	}
	if err := set.make(ctx, &o); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

// make makes the set from its sides' source.
func (s *Set) make(ctx context.Context, o *Options) error {
	now, err := o.find(ctx, s.Now(), false)
	if err != nil {
		return err
	} else if len(now.packages) == 0 {
		return fmt.Errorf("no package of %s has benchmarks", strings.Join(o.Patterns, " "))
	}
	var old *side
	var changed []string // files
	if len(s.All) > 1 {
		if old, err = o.find(ctx, s.All[0], true); err != nil {
			return err
		}
	}
	if old != nil && old.code.Revision != "" {
		if changed, err = now.code.Source.Changed(ctx, old.code.Source.Commit); err != nil {
			return err
		}
		s.noteGone(now, old)
		if !o.All {
			if s.Same, err = leaveSame(ctx, now, old, changed); err != nil {
				return err
			}
		}
	}
	// Each layout is one more run of the linker, but blocks that share one tell less than blocks
	// that do not.
	if o.Layouts == 0 {
		if o.Layouts = 8; len(now.packages) <= 4 { // four would leave three degrees of freedom
			o.Layouts = 16
		}
	}
	for _, p := range now.packages {
		if err := o.build(ctx, now, p); err != nil {
			return err
		}
		if old != nil {
			if err := s.buildOld(ctx, o, now, old, p, testsDiffer(p, changed)); err != nil {
				return err
			}
		}
		s.join(now, old, p)
	}
	return nil
}

// find finds a side's packages. An old side may lack some.
func (o *Options) find(ctx context.Context, one *build.Side, old bool) (*side, error) {
	packages, err := Find(ctx, one.Source, o.Patterns, old)
	if err != nil {
		return nil, one.Wrap(err)
	}
	return &side{
		code: one, packages: packages,
		binaries: map[string]*Binary{}, benchmarks: map[string][]Benchmark{}, failed: map[string]error{},
	}, nil
}

// label is the side's revision as it was asked for, or what the side is called otherwise.
func (s *side) label() string { return cmp.Or(s.code.Revision, s.code.Label()) }

// named is the package of that path, nil if there is none.
func (s *side) named(path string) *Package {
	for i := range s.packages {
		if s.packages[i].Path == path {
			return &s.packages[i]
		}
	}
	return nil
}

// noteGone notes the benchmark functions that only the old side has.
func (s *Set) noteGone(now, old *side) {
	for _, p := range old.packages {
		is := cmp.Or(now.named(p.Path), &Package{})
		for _, top := range p.Tops {
			if !slices.Contains(is.Tops, top) {
				s.pass("%s %s is gone: %s has it", p.Path, top, old.label())
			}
		}
	}
}

// build builds a package on one side and lists its benchmarks.
func (o *Options) build(ctx context.Context, s *side, p Package) error {
	o.Say("building the tests of %s at %s", p.Path, s.code.Label())
	binary, err := Build(ctx, s.code, p, o.Layouts)
	if err == nil {
		s.binaries[p.Path] = binary
		s.benchmarks[p.Path], err = binary.List(ctx, o.Bench, o.Patience)
	}
	if s.failed[p.Path] = err; err == nil {
		delete(s.failed, p.Path)
	}
	return ctx.Err() // the other packages are measured
}

// buildOld builds a package on the old side: with the new tests if the sides' differ, and with its
// own where the new ones do not build there, or fail.
func (s *Set) buildOld(ctx context.Context, o *Options, now, old *side, p Package, differ bool) error {
	own := old.named(p.Path)
	if differ && o.OwnTests && own != nil {
		s.warn("%s: each side runs its own tests, which differ", p.Path)
	} else if differ && !o.OwnTests {
		var why string
		for _, benchmarks := range []bool{false, true} {
			folder, err := old.code.Source.TakeTests(ctx, now.code.Source, p.Folder, benchmarks)
			if err != nil {
				return err
			}
			if folder == "" {
				return nil // it lacks the package
			}
			with := p
			with.Folder = folder
			if err := o.build(ctx, old, with); err != nil {
				return err
			}
			which := "tests"
			if benchmarks {
				which = "benchmarks"
			}
			fails := old.failsAlone(now, p.Path)
			if fails == "" {
				s.warn("%s: the old code runs the new %s", p.Path, which)
				return nil
			}
			why = cmp.Or(why, fails)
			if err := old.code.Source.GiveBackTests(ctx, folder); err != nil {
				return err
			}
			builds := old.failed[p.Path] == nil
			delete(old.failed, p.Path)
			delete(old.benchmarks, p.Path)
			if builds || own == nil { // fewer of the new files help only those that do not build
				break
			}
		}
		if own == nil {
			s.pass("%s: the new tests do not run on the old code: %s", p.Path, why)
		} else {
			s.warn("%s: each side runs its own tests, as the new ones do not run on the old code: %s", p.Path, why)
		}
	}
	if own == nil {
		return nil
	}
	return o.build(ctx, old, *own)
}

// failsAlone says why a package's tests do not run on this side, where they run on the new one; ""
// if they do.
func (s *side) failsAlone(now *side, path string) string {
	if err := s.failed[path]; err != nil {
		return err.Error()
	}
	for _, one := range s.benchmarks[path] {
		if is := find(now.benchmarks[path], one.Name); one.Failed != "" && !one.Skips && is != nil && is.Failed == "" {
			return one.Name + ": " + one.Failed
		}
	}
	return ""
}

// testsDiffer reports whether a file that changed is one of a package's tests, or in its testdata.
func testsDiffer(p Package, changed []string) bool {
	return slices.ContainsFunc(changed, func(file string) bool {
		folder, name := filepath.Split(file)
		_, data := build.Below(filepath.Join(p.Folder, "testdata"), file)
		return data || strings.HasSuffix(name, "_test.go") && filepath.Clean(folder) == p.Folder
	})
}

// join makes the entries of a package. A case has a benchmark of the new side, which is the
// baseline, its control, and the same benchmark of the old side.
func (s *Set) join(now, old *side, p Package) {
	switch {
	case now.failed[p.Path] != nil:
		s.note("%s does not build: %v", p.Path, now.failed[p.Path])
		s.Lost = append(s.Lost, p.Path)
		return
	case old != nil && old.failed[p.Path] != nil:
		s.note("%s does not build at %s; postage bench %s measures the new code alone: %v", p.Path, old.label(), p.Path, old.failed[p.Path])
		return
	}
	for _, one := range now.benchmarks[p.Path] {
		s.joinOne(now, old, p, &one)
	}
	if old == nil {
		return
	}
	for _, one := range old.benchmarks[p.Path] {
		if why := unreached(now.benchmarks[p.Path], old.benchmarks[p.Path], one); why != "" {
			s.note("%s %s was not run: %s", p.Path, one.Name, why)
			s.Lost = append(s.Lost, p.Path+" "+one.Name)
		}
	}
}

// unreached says what stopped the function that a benchmark of the old side is in, and that the new
// one lacks, and did not stop it on the old side; "" for nothing.
func unreached(now, old []Benchmark, lacked Benchmark) string {
	if find(now, lacked.Name) != nil {
		return ""
	}
	function, _, _ := strings.Cut(lacked.Name, "/")
	for _, one := range now {
		was := find(old, one.Name)
		if in, _, _ := strings.Cut(one.Name, "/"); in == function && lacked.Failed == "" && one.Failed != "" && (was == nil || was.Failed == "") {
			return one.Failed
		}
	}
	return ""
}

// joinOne makes the entries of one benchmark of the new side.
func (s *Set) joinOne(now, old *side, p Package, one *Benchmark) {
	var was *Benchmark
	if old != nil {
		was = find(old.benchmarks[p.Path], one.Name)
		switch {
		case was == nil && one.Failed != "":
			s.pass("%s %s is new: %s does not have it; in the new code %s", p.Path, one.Name, old.label(), one.Failed)
			return
		case was == nil:
			s.pass("%s %s is new: %s does not have it", p.Path, one.Name, old.label())
			return
		case one.Skips && was.Skips:
			s.pass("%s %s: on both sides %s", p.Path, one.Name, one.Failed)
			return
		case one.Failed != "" && was.Failed == "":
			s.Lost = append(s.Lost, p.Path+" "+one.Name)
		}
	}
	c := newCase(p, one)
	both := pair{now: half{now.binaries[p.Path], *one}}
	e := now.entry(c, p, *one)
	e.Role = record.RoleBaseline
	s.Entries = append(s.Entries, e)
	e.Role, e.Contender.Name = record.RoleControl, "code=control"
	s.Entries = append(s.Entries, e)
	if old != nil {
		e = old.entry(c, p, *was)
		e.Role, e.Old = record.RoleContender, true
		s.Entries = append(s.Entries, e)
		both.old = half{old.binaries[p.Path], *was}
	}
	s.cases, s.pairs[c.Name] = append(s.cases, c.Name), both
}

// Passes reports whether there is nothing to measure, and no fault in that: the sides have the same
// code, or no benchmark in common.
func (s *Set) Passes() bool {
	alone := len(s.Notes) > 0 && len(s.Notes) == s.harmless
	return len(s.All) > 1 && len(s.Entries) == 0 && (alone || len(s.Notes) == 0 && s.Same != "")
}

// pass is a note on what a gate passes.
func (s *Set) pass(format string, a ...any) {
	s.note(format, a...)
	s.harmless++
}

func (s *Set) note(format string, a ...any) { s.Notes = append(s.Notes, fmt.Sprintf(format, a...)) }

func (s *Set) warn(format string, a ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, a...))
}

func find(all []Benchmark, name string) *Benchmark {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// newCase makes the case of a benchmark. The measure of its time follows from what the benchmark
// is: wall time if it uses several processors, or waits.
func newCase(p Package, one *Benchmark) *lab.Case {
	c := &lab.Case{
		Name:     "Bench/pkg=" + p.Label + "/" + strings.TrimPrefix(one.Name, "Benchmark"),
		Doc:      p.Path + " " + one.Name,
		Batch:    max(one.Took, one.Call),
		Value:    record.ValueCost,
		Baseline: "code=new",
	}
	if one.Parallel || one.Waits {
		c.Value = record.ValueWall
	}
	return c
}

// entry returns a benchmark's entry on this side, without a role.
func (s *side) entry(c *lab.Case, p Package, one Benchmark) lab.Entry {
	b := s.binaries[p.Path]
	return lab.Entry{Stage: Stage, Case: c, Build: b.Build, Contender: lab.Contender{
		Name:        "code=new",
		Checks:      Proof,
		NotPossible: one.Failed,
		Properties:  b.better,
		Start: func(_ context.Context, layout int) (lab.Runner, error) {
			return b.start(&one, layout)
		},
	}}
}
