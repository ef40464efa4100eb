package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"postage/internal/build"
	"postage/lab"
)

// Variation is what the sides differ in.
type Variation struct {
	// Name is an environment variable ("GOGC"), a flag of go build ("-pgo"), a module's path, or ""
	// for the code itself.
	Name string
	// Values are one a side. For code a value is a revision, "" for the working tree.
	Values []string
	module bool
}

// ParseVariation reads what --vary takes: NAME=a,b or -flag=a,b or module@v1,v2 or @main,@ with
// revisions, where @ alone is the working tree.
func ParseVariation(text string) (v Variation, err error) {
	name, values, isSetting := strings.Cut(text, "=")
	switch path, versions, isModule := strings.Cut(text, "@"); {
	case strings.HasPrefix(text, "@"):
		for value := range strings.SplitSeq(text, ",") {
			revision, is := strings.CutPrefix(value, "@")
			if !is {
				return v, fmt.Errorf("--vary %s: %q: a revision has @ before it", text, value)
			}
			v.Values = append(v.Values, revision)
		}
	case isModule && !strings.Contains(path, "="):
		v = Variation{Name: path, Values: strings.Split(versions, ","), module: true}
	case isSetting && strings.Trim(name, "-") != "":
		v = Variation{Name: name, Values: strings.Split(values, ",")}
	}
	if len(v.Values) < 2 {
		return v, &lab.Hinted{Err: fmt.Errorf("--vary %s: want two values or more", text), Hint: "such as GOGC=100,400, -tags=,purego, example.org/m@v1.2.3,v1.3.0 or @main,@"}
	}
	return v, nil
}

// label names one side.
func (v *Variation) label(value string) string {
	switch {
	case v.module:
		return v.Name + "@" + value
	case v.Name == "":
		return value
	}
	return v.Name + "=" + value
}

// versioned says that the sides are two states of the code, whose packages may be the same.
func (v *Variation) versioned() bool { return v.Name == "" }

// open makes the sides: of one and the same code, unless that is what differs.
func (s *Set) open(ctx context.Context, o *Options) (sides []*side, err error) {
	v := o.Vary
	if len(v.Values) == 0 {
		v.Values = []string{""}
	}
	atRunTime := false
	if v.Name != "" && !v.module && v.Name[0] != '-' {
		// Of all variables, the go command lists those that it reads.
		known, err := build.Output(ctx, o.Folder, "go", "env", "-json")
		if err != nil {
			return nil, err
		}
		atRunTime = v.Name == "GODEBUG" || !strings.Contains(known, `"`+v.Name+`":`)
	}
	for i, value := range v.Values {
		name := v.label(value)
		if atRunTime && i > 0 {
			twin := *sides[0] // built once, run in two ways
			sides = append(sides, &twin)
		} else {
			one, err := s.openOne(ctx, o, value)
			var h *lab.Hinted
			switch {
			case err == nil:
			case errors.As(err, &h) && v.Name == "GOTOOLCHAIN":
				return nil, &lab.Hinted{Err: fmt.Errorf("%s: %w", name, h.Err), Hint: "go.mod says which releases can build it; one that is not here must be downloaded, which takes a network"}
			case v.Name != "":
				return nil, fmt.Errorf("%s: %w", name, err)
			default:
				return nil, err
			}
			sides = append(sides, one)
		}
		one := sides[i]
		if v.versioned() {
			one.revision = value
		} else {
			one.name = name
		}
		if atRunTime {
			one.environment = []string{name}
		}
		one.binaries, one.benchmarks, one.failed = map[string]*Binary{}, map[string][]Benchmark{}, map[string]error{}
	}
	return sides, nil
}

// openOne finds the benchmarks of one side's code.
func (s *Set) openOne(ctx context.Context, o *Options, value string) (*side, error) {
	var source *build.Source
	var err error
	if o.Vary.versioned() && value != "" {
		if source, err = build.Revision(ctx, o.Folder, value); err != nil {
			return nil, fmt.Errorf("--against %w", err)
		}
	} else if source, err = build.WorkingTree(ctx, o.Folder); err != nil {
		return nil, err
	}
	s.sources = append(s.sources, source)
	switch name := o.Vary.Name; {
	case name == "":
	case o.Vary.module:
		err = source.WithModule(ctx, name+"@"+value)
	case name[0] == '-':
		if file := filepath.Join(o.Folder, value); name == "-pgo" && exists(file) {
			if value, err = filepath.Abs(file); err != nil {
				return nil, err
			}
		}
		err = source.WithFlag(ctx, name+"="+value)
	default:
		source.With(name + "=" + value)
	}
	if err != nil {
		return nil, err
	}
	one, err := o.find(ctx, source)
	if err != nil && o.Vary.versioned() && value != "" {
		return nil, fmt.Errorf("--against %s; without it the new code is measured alone: %w", value, err)
	}
	return one, err
}

// told says what each side is: what was asked for, its Go release, and modules that differ.
func told(sides []*side) (lines []string) {
	first := sides[0]
	for i, one := range sides {
		if i > 0 {
			if differ := differences(first.in.versions, one.in.versions); differ != "" {
				lines = append(lines, "the sides are built from different modules, old → new: "+differ)
			}
		}
		if one.name != "" {
			which := "new"
			if i == 0 {
				which = "old"
			}
			lines = append(lines, fmt.Sprintf("%s is %s: %s, %s", which, one.name, one.in.versions["go"], shortCommit(one.source.Commit)))
		}
	}
	return lines
}
