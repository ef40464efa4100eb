package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"postage/internal/build"
	"postage/lab"
)

// Variation is what the sides differ in.
type Variation struct {
	// Name is an environment variable ("GOGC"), a flag of go build ("-pgo"), or "" for the code
	// itself.
	Name string
	// Values are one a side, the first of which is the old one; none for one side alone. For code a
	// value is a revision, "" for the working tree.
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
	if len(v.Values) < 2 {
		return v, &lab.Hinted{Err: fmt.Errorf("--vary %s: want two values or more", text), Hint: "such as GOGC=100,400, -tags=,purego or @main,@"}
	}
	return v, nil
}

// Text is what --vary takes for the sides, with the commits that its revisions name now: a branch
// may be another later. It is "" for one side.
func (v Variation) Text(sides []Side) string {
	if len(v.Values) == 0 {
		return ""
	}
	values := slices.Clone(v.Values)
	if v.Name == "" {
		for i, revision := range values {
			if values[i] = "@"; revision != "" {
				values[i] += sides[i].Commit
			}
		}
	}
	return v.label(strings.Join(values, ","))
}

// label is what one side sets, for code its revision.
func (v *Variation) label(value string) string {
	if v.Name == "" {
		return value
	}
	return v.Name + "=" + value
}

// versioned says that the sides are two states of the code, whose packages may be the same.
func (v *Variation) versioned() bool { return v.Name == "" }

// Side is one side's code, and how it is run.
type Side struct {
	*build.Source
	Name        string   // what it is called, "" for its commit
	Revision    string   // what its commit was asked for by, "" for the working tree
	Environment []string // of its processes, beside this one's
}

// Label is what the side is called.
func (s *Side) Label() string {
	if s.Name == "" {
		return shortCommit(s.Commit)
	}
	return s.Name
}

// InName is the label as a part of a row's name can hold it.
func (s *Side) InName() string { return inName.Replace(s.Label()) }

// Close removes what was checked out and what is not kept in the cache. Sides may share a source.
func Close(sides []Side) error {
	var errs []error
	for i, one := range sides {
		if i == 0 || one.Source != sides[0].Source {
			errs = append(errs, one.Source.Close())
		}
	}
	return errors.Join(errs...)
}

// Open makes the sides: of one and the same code, unless that is what differs. Those that differ
// only where they run share a source.
func (v Variation) Open(ctx context.Context, folder string) (sides []Side, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, Close(sides))
			sides = nil
		}
	}()
	atRunTime := false
	if v.Name != "" && v.Name[0] != '-' {
		// Of all variables, the go command lists those that it reads. In a folder that has no
		// go.mod, it takes no other release for that.
		known, err := build.Output(ctx, os.TempDir(), "go", "env", "-json")
		if err != nil {
			return nil, err
		}
		atRunTime = v.Name == "GODEBUG" || !strings.Contains(known, `"`+v.Name+`":`)
	}
	for i, value := range v.Values {
		one := Side{}
		if !v.versioned() {
			one.Name = v.label(value)
		}
		switch {
		case v.versioned() && value != "":
			one.Revision = value
			one.Source, err = build.Revision(ctx, folder, value)
		case atRunTime && i > 0:
			one.Source = sides[0].Source // built once, run in two ways
		default:
			one.Source, err = build.WorkingTree(ctx, folder)
		}
		if err != nil {
			return sides, v.Wrap(value, err)
		}
		sides = append(sides, one)
		if atRunTime {
			sides[i].Environment = []string{one.Name}
		} else if err := v.set(ctx, one.Source, folder, value); err != nil {
			return sides, v.Wrap(value, err)
		}
	}
	return sides, nil
}

// set has a source built as its side is.
func (v *Variation) set(ctx context.Context, source *build.Source, folder, value string) (err error) {
	switch {
	case v.versioned():
	case v.Name[0] == '-':
		if file := filepath.Join(folder, value); v.Name == "-pgo" && exists(file) {
			if value, err = filepath.Abs(file); err != nil {
				return err
			}
		}
		return source.WithFlag(ctx, v.Name+"="+value)
	default:
		source.With(v.Name + "=" + value)
	}
	return nil
}

// newerGo matches what the go command says if a module wants a newer Go than there is.
var newerGo = regexp.MustCompile(`requires go >= ([0-9.a-z]+) \(running|go: download go([0-9.a-z]*[0-9a-z])`)

// Wrap says of which side an error is, and what to do if the go command lacks a newer Go.
func (v *Variation) Wrap(value string, err error) error {
	m, named := newerGo.FindStringSubmatch(err.Error()), v.Name == "GOTOOLCHAIN"
	text := err.Error()
	switch {
	case v.Name != "":
		err = fmt.Errorf("--vary %s: %w", v.label(value), err)
	case value != "" && !errors.Is(err, build.ErrNoRevision):
		err = fmt.Errorf("--against %s; without it the new code is measured alone: %w", value, err)
	case value != "":
		err = &lab.Hinted{Err: fmt.Errorf("--against %w", err), Hint: "such as main, HEAD~1, or a commit"}
	}
	if m == nil {
		return err
	}
	hint, wanted := "", "Go "+m[1]+m[2]
	switch {
	case named && m[1] != "":
		hint = "go.mod wants " + wanted + " or newer: no side can be built by an older release"
	case named:
		hint = wanted + " is not on this machine: it takes a network, and a GOPROXY that has it, to download it"
	case strings.Contains(text, "; GOTOOLCHAIN="): // this release and no other
		hint = "set GOTOOLCHAIN=auto, so that the go command downloads " + wanted + ", or install it and put it first in PATH"
	default:
		hint = wanted + " could not be downloaded: install it and put it first in PATH"
	}
	return &lab.Hinted{Err: err, Hint: hint}
}

// Told says what each side is: what was asked for, its Go release, and modules that differ. The
// versions are those of the sides' modules, by path, and of "go".
func Told(sides []Side, versions []map[string]string) (lines []string) {
	for i, one := range sides {
		if differ := differences(versions[0], versions[i]); differ != "" {
			lines = append(lines, "the sides are built from different modules, old → new: "+differ)
		}
		if one.Name != "" {
			which := "new"
			if i == 0 {
				which = "old"
			}
			lines = append(lines, fmt.Sprintf("%s is %s: %s, %s", which, one.Name, versions[i]["go"], shortCommit(one.Commit)))
		}
	}
	return lines
}

// differences are the versions that are not the same.
func differences(old, now map[string]string) string {
	var all []string
	both := maps.Clone(old)
	maps.Copy(both, now)
	for _, path := range slices.Sorted(maps.Keys(both)) {
		if was, is := old[path], now[path]; was != is {
			all = append(all, fmt.Sprintf("%s %s → %s", path, cmp.Or(was, "none"), cmp.Or(is, "none")))
		}
	}
	return strings.Join(all, ", ")
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
