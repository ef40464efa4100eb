package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	Tests    string          // "new": the old code runs the new side's tests; "own": its own; "": its own, and the new side's benchmarks that it lacks
	All      bool            // packages too whose code is the same on all sides
	CPUs     []int           // values of GOMAXPROCS to run each benchmark with; empty for the current one
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
	// Warnings say which tests the old code runs where that matters.
	Warnings []string
	lent     []*build.Source // of old code with the new side's tests
	cases    []string
	pairs    map[string]pair // by case; the old half has no binary where there is one side
}

// pair is a benchmark on both sides.
type pair struct{ now, old half }

type half struct {
	binary *Binary
	of     Benchmark
}

// side is the built code of one side.
type side struct {
	*build.Side
	packages   []Package
	sums       map[string]string  // by test binary, see inputsOf
	binaries   map[string]*Binary // by package
	benchmarks map[string][]Benchmark
	failed     map[string]error // packages that do not build
	lent       *side            // the same code with the new side's tests, for benchmarks that it lacks; nil for none
}

// New finds the benchmarks, builds them, and runs each once.
func New(ctx context.Context, o Options) (set *Set, err error) {
	if _, err := parseSelection(o.Bench); err != nil {
		return nil, err
	}
	set = &Set{pairs: map[string]pair{}}
	if set.Sides, err = o.Vary.Open(ctx, o.Folder); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, set.Close())
			set = nil
		}
	}()
	sides, err := set.built(ctx, &o)
	if err != nil {
		return set, err
	}
	if len(sides) == 1 {
		set.join(o, sides[0], nil, "")
	}
	used := map[string]int{}
	for _, now := range sides[1:] {
		of := "" // which case it is, where a benchmark has several
		if len(sides) > 2 {
			of = now.Label()
			if used[of]++; used[of] > 1 { // @main,@ in a clean tree of main
				of += "#" + strconv.Itoa(used[of])
			}
		}
		set.join(o, now, sides[0], of)
	}
	return set, nil
}

// find finds the sides' packages and what these are compiled from.
func (s *Set) find(ctx context.Context, o *Options) (sides []*side, err error) {
	for _, one := range s.All {
		found := &side{Side: one, binaries: map[string]*Binary{}, benchmarks: map[string][]Benchmark{}, failed: map[string]error{}}
		if len(sides) > 0 && one.Source == sides[0].Source {
			found.packages, found.sums, one.Versions = sides[0].packages, sides[0].sums, sides[0].Versions
		} else if found.packages, err = Find(ctx, one.Source, o.Patterns, one.Revision != "" && one != s.Now()); err == nil {
			found.sums, one.Versions, err = inputsOf(ctx, one.Source, found.packages)
		}
		if err != nil {
			return nil, one.Wrap(err)
		}
		sides = append(sides, found)
	}
	return sides, nil
}

// built makes the sides from source.
func (s *Set) built(ctx context.Context, o *Options) ([]*side, error) {
	if o.Tests == "new" && o.Vary.OfCode() {
		if err := s.lendAll(ctx, o); err != nil {
			return nil, err
		}
	}
	sides, err := s.find(ctx, o)
	if err != nil {
		return nil, err
	}
	now := sides[len(sides)-1]
	if len(now.packages) == 0 {
		return nil, fmt.Errorf("no package of %s has benchmarks", strings.Join(o.Patterns, " "))
	}
	if len(sides) > 1 && o.Vary.OfCode() && !o.All {
		s.Same = leaveSame(o, sides)
	}
	if err := o.build(ctx, now); err != nil {
		return nil, err
	}
	for _, old := range sides[:len(sides)-1] {
		lends := o.Tests == "" && old.Revision != ""
		whole := *old
		if lends { // what has the same benchmarks and more is built once, with the new tests
			old.packages = slices.DeleteFunc(slices.Clone(old.packages), func(p Package) bool { return o.onlyAdds(old, now, p) })
		}
		if err := o.build(ctx, old); err != nil {
			return nil, err
		}
		if !lends {
			continue
		}
		if err := s.lend(ctx, o, old, now); err != nil {
			return nil, err
		}
		built := old.packages
		old.packages = whole.packages
		if err := o.buildRest(ctx, old, built); err != nil {
			return nil, err
		}
	}
	return sides, nil
}

// lendAll has each revision but the new side tested by the new side's tests.
func (s *Set) lendAll(ctx context.Context, o *Options) error {
	packages, err := Find(ctx, s.Now().Source, o.Patterns, false)
	if err != nil {
		return s.Now().Wrap(err)
	}
	for _, one := range s.All {
		if one.Revision == "" || one == s.Now() {
			continue
		}
		if err := one.TakeTests(ctx, s.Now().Source, foldersOf(packages)); err != nil {
			return err
		}
	}
	return nil
}

// lend builds the packages of an old side that lack a benchmark once more, with the new side's
// tests.
func (s *Set) lend(ctx context.Context, o *Options, old, now *side) error {
	var lacking []Package
	for _, p := range now.packages {
		lacks := func(one Benchmark) bool { return one.Failed == "" && find(old.benchmarks[p.Path], one.Name) == nil }
		if old.failed[p.Path] == nil && slices.ContainsFunc(now.benchmarks[p.Path], lacks) {
			lacking = append(lacking, p)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	source, err := build.Revision(ctx, o.Folder, old.Revision)
	if err != nil {
		return err
	}
	s.lent = append(s.lent, source)
	if err := source.TakeTests(ctx, now.Source, foldersOf(lacking)); err != nil {
		return err
	}
	with := *old.Side
	with.Source = source
	lent := &side{Side: &with, binaries: map[string]*Binary{}, benchmarks: map[string][]Benchmark{}, failed: map[string]error{}}
	if lent.packages, err = Find(ctx, source, o.Patterns, true); err != nil {
		return err
	}
	lent.packages = slices.DeleteFunc(lent.packages, func(p Package) bool {
		return !slices.ContainsFunc(lacking, func(lacks Package) bool { return lacks.Path == p.Path })
	})
	old.lent = lent
	return o.build(ctx, lent)
}

// onlyAdds reports whether the new side has more benchmarks in a package than the old one, and
// those that both have in the same words.
func (o *Options) onlyAdds(old, now *side, p Package) (adds bool) {
	wanted, _ := parseSelection(o.Bench) // which New has done
	for _, one := range now.packages {
		for _, top := range one.Tops {
			switch {
			case one.Path != p.Path || wanted.of(top) == "":
			case !slices.Contains(p.Tops, top):
				adds = true
			case changed(now, old, p.Path, top):
				return false
			}
		}
	}
	return adds
}

// buildRest builds what is left of an old side with its own tests, where the new ones do not run
// all that the new side runs.
func (o *Options) buildRest(ctx context.Context, old *side, built []Package) error {
	all := old.packages
	defer func() { old.packages = all }()
	old.packages = slices.DeleteFunc(slices.Clone(all), func(p Package) bool {
		return slices.ContainsFunc(built, func(is Package) bool { return is.Path == p.Path }) || old.lent != nil && old.lent.runs(p, o.Bench)
	})
	return o.build(ctx, old)
}

// runs reports whether all functions of a package that the pattern selects were found, and none
// failed.
func (s *side) runs(p Package, pattern string) bool {
	wanted, _ := parseSelection(pattern) // which New has done
	for _, top := range p.Tops {
		if wanted.of(top) == "" {
			continue
		}
		in := func(one Benchmark) bool {
			function, _, _ := strings.Cut(one.Name, "/")
			return function == top && (one.Failed == "" || one.Skips)
		}
		if !slices.ContainsFunc(s.benchmarks[p.Path], in) {
			return false
		}
	}
	return !slices.ContainsFunc(s.benchmarks[p.Path], func(one Benchmark) bool { return one.Failed != "" && !one.Skips })
}

func foldersOf(packages []Package) (all []string) {
	for _, p := range packages {
		all = append(all, p.Folder)
	}
	return all
}

// Close removes what the benchmarks are built from.
func (s *Set) Close() error {
	err := s.Sides.Close()
	for _, source := range s.lent {
		err = errors.Join(err, source.Close())
	}
	return err
}

// leaveSame takes the packages from all sides whose tests are the same code, and says how many.
func leaveSame(o *Options, sides []*side) string {
	wanted, _ := parseSelection(o.Bench) // which New has done
	functions, same := 0, 0
	old, now := sides[0], sides[len(sides)-1]
	is := func(p Package) bool {
		sum := old.sums[p.Path+".test"]
		return sum != "" && !slices.ContainsFunc(sides, func(s *side) bool { return s.sums[p.Path+".test"] != sum })
	}
	skipped, all := 0, len(now.packages)
	for _, p := range now.packages {
		n := len(slices.DeleteFunc(slices.Clone(p.Tops), func(top string) bool { return wanted.of(top) == "" }))
		if functions += n; is(p) {
			skipped, same = skipped+1, same+n
		}
	}
	if skipped == 0 {
		return ""
	}
	for _, one := range sides {
		one.packages = slices.DeleteFunc(one.packages, is)
	}
	return fmt.Sprintf("%d of %d benchmark functions are the same code as at %s (%d of %d packages), and are not measured; --all measures them",
		same, functions, o.Vary.Values[0], skipped, all)
}

// build builds one side and lists its benchmarks.
func (o *Options) build(ctx context.Context, s *side) error {
	// Each layout is one more run of the linker, but blocks that share one tell less than blocks
	// that do not.
	if o.Layouts == 0 {
		if o.Layouts = 8; len(s.packages) <= 4 { // four would leave three degrees of freedom
			o.Layouts = 16
		}
	}
	for _, p := range s.packages {
		o.Say("building the tests of %s at %s", p.Path, s.Label())
		binary, err := Build(ctx, s.Side, p, o.Layouts)
		if err == nil {
			s.binaries[p.Path] = binary
			s.benchmarks[p.Path], err = binary.List(ctx, o.Bench, o.Patience)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			s.failed[p.Path] = err // the other packages are measured
		}
	}
	return nil
}

// Programs is the SHA-256 of the programs of all sides.
func (s *Set) Programs() string {
	h := sha256.New()
	for _, name := range s.cases {
		for _, one := range []half{s.pairs[name].old, s.pairs[name].now} {
			if one.binary != nil {
				fmt.Fprintln(h, name, lab.Digest(one.binary.Commands[0][0]), one.binary.Environment)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// join makes the entries. A case has a benchmark of the new side, which is the baseline, its
// control, and the same benchmark of the old side; of says which case of the benchmark it is.
func (s *Set) join(o Options, now, old *side, of string) {
	for _, p := range now.packages {
		switch {
		case now.failed[p.Path] != nil:
			s.note("%s does not build: %v", p.Path, now.failed[p.Path])
			s.Lost = append(s.Lost, p.Path)
		case old != nil && old.failed[p.Path] != nil:
			s.note("%s does not build at %s; postage bench %s measures the new code alone: %v", p.Path, cmp.Or(old.Revision, old.Label()), p.Path, old.failed[p.Path])
		default:
			for _, one := range now.benchmarks[p.Path] {
				s.joinOne(o, now, old, p, &one, of)
			}
			if old != nil && old.lent != nil && old.lent.failed[p.Path] != nil {
				s.pass("%s: the new tests do not build with the old code: %v", p.Path, old.lent.failed[p.Path])
			}
		}
	}
	if old == nil {
		return
	}
	for _, p := range old.packages {
		for _, one := range old.benchmarks[p.Path] {
			if now.failed[p.Path] != nil || find(now.benchmarks[p.Path], one.Name) != nil {
				continue
			}
			if why := unreached(now.benchmarks[p.Path], old.benchmarks[p.Path], one); why != "" {
				s.note("%s %s was not run: %s", p.Path, one.Name, why)
				s.Lost = append(s.Lost, p.Path+" "+one.Name)
			} else {
				s.pass("%s %s is gone: %s has it", p.Path, one.Name, cmp.Or(old.Revision, old.Label()))
			}
		}
	}
}

// unreached says what stopped the function that a benchmark of the old side, which the new one
// lacks, is in, and did not stop it on the old side; "" for nothing.
func unreached(now, old []Benchmark, lacked Benchmark) string {
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
func (s *Set) joinOne(o Options, now, old *side, p Package, one *Benchmark, of string) {
	var was *Benchmark
	if old != nil {
		if was = find(old.benchmarks[p.Path], one.Name); was == nil && old.lent != nil {
			same := !changed(now, old, p.Path, one.Name)
			if was = find(old.lent.benchmarks[p.Path], one.Name); was != nil && was.Failed == "" {
				old = old.lent
				if !same {
					s.Warnings = append(s.Warnings, fmt.Sprintf("%s %s is new: the old code runs it from the new tests", p.Path, one.Name))
				}
			} else {
				was = nil
			}
		} else if was != nil && o.Tests == "" && changed(now, old, p.Path, one.Name) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s %s: its source differs between the sides; --tests new has the old code run the new one", p.Path, one.Name))
		}
		if was == nil {
			s.pass("%s %s is new: %s does not have it", p.Path, one.Name, cmp.Or(old.Revision, old.Label()))
			return
		} else if one.Skips && was.Skips {
			s.pass("%s %s: on both sides %s", p.Path, one.Name, one.Failed)
			return
		}
		if one.Failed != "" && was.Failed == "" {
			s.Lost = append(s.Lost, p.Path+" "+one.Name)
		}
	}
	cpus := o.CPUs
	if len(cpus) == 0 {
		cpus = []int{0} // the current GOMAXPROCS
	}
	for _, cpu := range cpus {
		c := newCase(p, one, cpu, len(o.CPUs) > 0)
		if of != "" {
			c.Name, c.Doc = c.Name+"/"+build.InName(of), c.Doc+" "+of
		}
		s.cases, s.pairs[c.Name] = append(s.cases, c.Name), pair{now: half{now.binaries[p.Path], *one}}
		e := now.entry(c, p, *one, cpu)
		e.Role = record.RoleBaseline
		s.Entries = append(s.Entries, e)
		e.Role, e.Contender.Name = record.RoleControl, "code=control"
		s.Entries = append(s.Entries, e)
		if old == nil {
			continue
		}
		e = old.entry(c, p, *was, cpu)
		e.Role, e.Old = record.RoleContender, true
		s.Entries = append(s.Entries, e)
		s.pairs[c.Name] = pair{half{now.binaries[p.Path], *one}, half{old.binaries[p.Path], *was}}
	}
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

// changed reports whether the source of the function that a benchmark is in differs between sides.
func changed(now, old *side, path, name string) bool {
	function, _, _ := strings.Cut(name, "/")
	text := func(s *side) string {
		for _, p := range s.packages {
			if p.Path == path {
				return p.texts[function]
			}
		}
		return ""
	}
	return text(now) != text(old)
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
func newCase(p Package, one *Benchmark, cpu int, named bool) *lab.Case {
	c := &lab.Case{
		Name:     "Bench/pkg=" + p.Label + "/" + strings.TrimPrefix(one.Name, "Benchmark"),
		Doc:      p.Path + " " + one.Name,
		Batch:    max(one.Took, one.Call),
		Value:    record.ValueCost,
		Baseline: "code=new",
	}
	if named {
		c.Name += "/cpu=" + strconv.Itoa(cpu)
	}
	if one.Parallel || one.Waits {
		c.Value = record.ValueWall
	}
	return c
}

// entry returns a benchmark's entry on this side, without a role.
func (s *side) entry(c *lab.Case, p Package, one Benchmark, cpu int) lab.Entry {
	b := s.binaries[p.Path]
	return lab.Entry{Stage: Stage, Case: c, Build: b.Build, Contender: lab.Contender{
		Name:        "code=new",
		Checks:      Proof,
		NotPossible: one.Failed,
		Properties:  b.better,
		Start: func(_ context.Context, layout int) (lab.Runner, error) {
			return b.start(&one, cpu, layout%len(b.Commands)) // an old Go release has only one layout
		},
	}}
}
