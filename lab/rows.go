package lab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"postage/record"
)

// Entry is a contender in its role in a case: what becomes a row.
type Entry struct {
	Stage     string
	Case      *Case
	Contender Contender
	Role      record.Role
	// Build has the programs that the contender runs in, nil for this one. Old says that it is
	// an older revision's.
	Build *Build
	Old   bool
}

// Row is the row's name: the case's and the contender's, and the revision if it is an old one.
func (e *Entry) Row() string { return e.Case.Name + "/" + e.contender() }

func (e *Entry) contender() string {
	if e.Old {
		return e.Contender.Name + "/rev=" + e.Build.Name
	}
	return e.Contender.Name
}

// asked is the name that the program that has the row knows it by.
func (e *Entry) asked() string { return e.Case.Name + "/" + e.Contender.Name }

// FirstLook says whether `postage run` measures the row when it is asked for nothing in particular.
func (e *Entry) FirstLook() bool {
	many := len(e.Case.First) > 0 && (e.Role == record.RoleContender || e.Role == record.RoleFloor)
	return e.Case.Headline && (!many || slices.Contains(e.Case.First, e.Contender.Name))
}

// Entries lists the suites' rows. In each case the baseline comes first and the control
// second, which is the baseline again under a name such as "codec=control".
func Entries(suites []Suite) []Entry {
	var entries []Entry
	for s := range suites {
		cases := suites[s].cases()
		for c := range cases {
			entries = append(entries, cases[c].entries(suites[s].Stage)...)
		}
	}
	return entries
}

// entry finds a row, as each process does that is to measure one. Of suites with options it makes
// the cases with the settings that the row's name has.
func entry(suites []Suite, row string) (Entry, bool) {
	for _, s := range suites {
		cases := s.Cases
		if s.Make != nil && s.has(row) {
			cases = s.Made(s.Named([]string{row}))
		}
		for i := range cases {
			if strings.HasPrefix(row, cases[i].Name+"/") {
				for _, e := range cases[i].entries(s.Stage) {
					if e.Row() == row {
						return e, true
					}
				}
			}
		}
	}
	return Entry{}, false
}

// cases returns what a run has made of the suite, or else the cases of its default settings.
func (s *Suite) cases() []Case {
	if s.Cases == nil {
		return s.Made(nil)
	}
	return s.Cases
}

func (c *Case) entries(stage string) []Entry {
	var first, others []Entry
	for _, contender := range c.Contenders {
		e := Entry{Stage: stage, Case: c, Contender: contender, Role: record.RoleContender}
		switch {
		case contender.Name == c.Baseline:
			control := e
			key, _, _ := strings.Cut(contender.Name, "=")
			control.Contender.Name = key + "=control"
			e.Role, control.Role = record.RoleBaseline, record.RoleControl
			first = append(first, e, control)
			continue
		case contender.Floor:
			e.Role = record.RoleFloor
		}
		others = append(others, e)
	}
	return append(first, others...)
}

var (
	part = regexp.MustCompile(`^[a-z][a-z0-9-]*=[^\s/=:]+$`)
	// A name that ends so would be read as one with GOMAXPROCS behind it.
	procsSuffix = regexp.MustCompile(`-[0-9]+$`)
)

// Check says what is wrong with the suites' names, so that a mistake in a stage shows
// in its test and not in a record.
func Check(suites []Suite) error {
	seen := map[string]bool{}
	for _, suite := range suites {
		if err := suite.checkOptions(); err != nil {
			return err
		}
		cases := suite.cases()
		for i := range cases {
			c := &cases[i]
			stage, parts, _ := strings.Cut(c.Name, "/")
			if !strings.EqualFold(stage, suite.Stage) || stage == suite.Stage {
				return fmt.Errorf("case %s: does not begin with the stage %q, capitalised", c.Name, suite.Stage)
			}
			for _, name := range c.First {
				if !slices.ContainsFunc(c.Contenders, func(o Contender) bool { return o.Name == name }) {
					return fmt.Errorf("case %s: %q, of its first look, is not one of its contenders", c.Name, name)
				}
			}
			entries := c.entries(suite.Stage)
			if len(entries) == 0 || entries[0].Role != record.RoleBaseline {
				return fmt.Errorf("case %s: its baseline %q is not one of its contenders", c.Name, c.Baseline)
			}
			for _, e := range entries {
				if seen[e.Row()] {
					return fmt.Errorf("row %s: exists twice", e.Row())
				}
				seen[e.Row()] = true
				for p := range strings.SplitSeq(parts+"/"+e.Contender.Name, "/") {
					if !part.MatchString(p) {
						return fmt.Errorf("row %s: %q is not of the form key=value", e.Row(), p)
					}
				}
				if f := e.Contender.OwnFloor; f != "" && !slices.ContainsFunc(c.Contenders, func(o Contender) bool { return o.Floor && o.Name == f }) {
					return fmt.Errorf("row %s: its floor %q is not a floor of the case", e.Row(), f)
				}
				if procsSuffix.MatchString(e.Row()) {
					return fmt.Errorf("row %s: ends like a GOMAXPROCS suffix", e.Row())
				}
				if e.Contender.NotPossible == "" && (e.Contender.Open == nil && e.Contender.Start == nil || e.Contender.Checks == "") {
					return fmt.Errorf("row %s: has no Open, or does not say what its proof checks", e.Row())
				}
			}
		}
	}
	return nil
}
