package build

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"postage/lab"
)

// Variation is what the sides differ in.
type Variation struct {
	// Name is an environment variable ("GOGC"), a flag of go build ("-pgo"), or "" for the code
	// itself.
	Name string
	// Values are the old side's and the new side's; none where there is one side. For code a value
	// is a revision, "" for the working tree.
	Values []string
}

// ParseVariation reads what --vary takes: NAME=a,b or -flag=a,b or @main,@ with revisions, where @
// alone is the working tree.
func ParseVariation(text string) (v Variation, err error) {
	name, values, isSetting := strings.Cut(text, "=")
	switch {
	case strings.HasPrefix(text, "@"):
		for value := range strings.SplitSeq(text, ",") {
			revision, is := strings.CutPrefix(value, "@")
			if !is {
				return v, fmt.Errorf("--vary %s: %q: a revision has @ before it", text, value)
			}
			v.Values = append(v.Values, revision)
		}
	case isSetting && strings.Trim(name, "-") != "":
		v = Variation{Name: name, Values: strings.Split(values, ",")}
	}
	if len(v.Values) != 2 {
		return v, &lab.Hinted{Err: fmt.Errorf("--vary %s: want two values, not %d", text, len(v.Values)), Hint: "such as GOGC=100,400, -tags=,purego or @main,@"}
	}
	return v, nil
}

// label is what one side sets: "GOGC=400", or a revision.
func (v *Variation) label(value string) string {
	if v.Name == "" {
		return value
	}
	return v.Name + "=" + value
}

// OfCode says that the sides are states of the code, whose packages may be the same.
func (v *Variation) OfCode() bool { return v.Name == "" }

// Side is one side's code, and how it is run.
type Side struct {
	Source      *Source
	Name        string   // what it is called, "" for its commit
	Revision    string   // what its commit was asked for by, "" for the working tree
	Environment []string // of its processes, beside this one's
	Go          string   // the release that built it, "" until then
	wrap        func(error) error
}

// Label is what the side is called.
func (s *Side) Label() string {
	if s.Name == "" {
		return shortCommit(s.Source.Commit)
	}
	return s.Name
}

// Wrap says that this side has the error.
func (s *Side) Wrap(err error) error { return s.wrap(err) }

// Build builds the target in so many function layouts, see [Source.Layouts], and notes the Go
// release that built them. A worker is one of the programs with the arguments.
func (s *Side) Build(ctx context.Context, target Target, layouts int, arguments ...string) (*lab.Build, error) {
	programs, err := s.Source.Layouts(ctx, target, layouts)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(programs[0])
	if err != nil {
		return nil, err
	}
	b := &lab.Build{
		Name: inName(s.Label()), Commit: s.Source.Commit,
		Environment: s.Environment, Modules: lab.ModulesOf(info),
	}
	s.Go = info.GoVersion
	for _, program := range programs {
		b.Commands = append(b.Commands, append([]string{program}, arguments...))
	}
	return b, nil
}

// inName is a label as a part of a row's name can hold it.
func inName(label string) string {
	return strings.NewReplacer("/", ":", "=", ":", " ", "_").Replace(label)
}

// Sides are what a comparison builds and runs, the old one first; one alone where nothing is
// compared.
type Sides struct {
	Vary Variation
	All  []*Side
}

// Now is the new side.
func (s *Sides) Now() *Side { return s.All[len(s.All)-1] }

// Close removes what was checked out and what is not kept in the cache. Sides may share a source.
func (s *Sides) Close() error {
	var errs []error
	for i, one := range s.All {
		if i == 0 || one.Source != s.All[0].Source {
			errs = append(errs, one.Source.Close())
		}
	}
	return errors.Join(errs...)
}

// Open makes the sides: of one and the same code, unless that is what differs. Those that differ
// only where they run share a source.
func (v Variation) Open(ctx context.Context, folder string) (sides *Sides, err error) {
	sides = &Sides{Vary: v}
	defer func() {
		if err != nil {
			err = errors.Join(err, sides.Close())
			sides = nil
		}
	}()
	atRunTime := false
	if v.Name != "" && v.Name[0] != '-' {
		// Of all variables, the go command lists those that it reads. In a folder that has no
		// go.mod, it takes no other release for that.
		known, err := Output(ctx, os.TempDir(), "go", "env", "-json")
		if err != nil {
			return sides, err
		}
		atRunTime = v.Name == "GODEBUG" || !strings.Contains(known, `"`+v.Name+`":`)
	}
	values := v.Values
	if len(values) == 0 {
		values = []string{""} // the working tree
	}
	for _, value := range values {
		one := &Side{wrap: func(err error) error { return v.wrap(value, err) }}
		switch {
		case v.OfCode() && value != "":
			one.Revision = value
			one.Source, err = Revision(ctx, folder, value)
		case atRunTime && len(sides.All) > 0:
			one.Source = sides.All[0].Source // built once, run in two ways
		default:
			one.Source, err = WorkingTree(ctx, folder)
		}
		if err != nil {
			return sides, one.Wrap(err)
		}
		sides.All = append(sides.All, one)
		if v.OfCode() {
			continue
		}
		if one.Name = v.label(value); atRunTime {
			one.Environment = []string{one.Name}
		} else if err := v.set(ctx, one.Source, folder, value); err != nil {
			return sides, one.Wrap(err)
		}
	}
	return sides, nil
}

// set has a source built with a value.
func (v *Variation) set(ctx context.Context, source *Source, folder, value string) error {
	if v.Name[0] != '-' {
		source.environment = append(source.environment, v.Name+"="+value)
		return nil
	}
	if file := filepath.Join(folder, value); v.Name == "-pgo" && value != "" {
		if _, err := os.Stat(file); err == nil {
			if value, err = filepath.Abs(file); err != nil {
				return err
			}
		}
	}
	return source.addFlag(ctx, v.Name+"="+value)
}

// Text is what --vary takes for the sides, with the commits that its revisions name now: a branch
// may be another later. It is "" for one side.
func (s *Sides) Text() string {
	if len(s.Vary.Values) == 0 {
		return ""
	}
	values := slices.Clone(s.Vary.Values)
	if s.Vary.OfCode() {
		for i, revision := range values {
			if values[i] = "@"; revision != "" {
				values[i] += s.All[i].Source.Commit
			}
		}
	}
	return s.Vary.label(strings.Join(values, ","))
}

// Told says what each side is: what was asked for, and its Go release.
func (s *Sides) Told() (lines []string) {
	for i, one := range s.All {
		if old := s.All[0].Go; old != one.Go && old != "" && one.Go != "" {
			lines = append(lines, fmt.Sprintf("the sides are built by different Go releases: %s → %s", old, one.Go))
		}
		if one.Name != "" {
			which := "new"
			if i == 0 {
				which = "old"
			}
			lines = append(lines, fmt.Sprintf("%s is %s: %s, %s", which, one.Name, one.Go, shortCommit(one.Source.Commit)))
		}
	}
	return lines
}

// wrap says which side has the error.
func (v *Variation) wrap(value string, err error) error {
	switch {
	case v.Name != "":
		return fmt.Errorf("--vary %s: %w", v.label(value), err)
	case value == "":
		return err
	case errors.Is(err, ErrNoRevision):
		return &lab.Hinted{Err: fmt.Errorf("--against %w", err), Hint: "such as main, HEAD~1, or a commit"}
	}
	return fmt.Errorf("--against %s; without it the new code is measured alone: %w", value, err)
}

func shortCommit(commit string) string {
	if commit == "" {
		return "no commit"
	}
	name, dirty, changed := strings.Cut(commit, "+")
	name = name[:min(12, len(name))]
	if changed {
		name += "+" + dirty
	}
	return name
}
