package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"postage/record"
)

// Option is a setting that refines some of a suite's cases, such as how many requests are in
// flight. Rows that have the setting name it, and so do patterns for them: Name=value.
type Option struct {
	Name    string   // the key in the names of rows
	Values  []string // the allowed ones
	Default []string // those of a run that names none; the first of Values if there are none
}

// Defaults are the values of a run that names none.
func (o *Option) Defaults() []string {
	if len(o.Default) > 0 {
		return o.Default
	}
	return o.Values[:1]
}

// Settings are one value for each of a suite's options, by name.
type Settings map[string]string

// Int is the value of an option whose values are numbers.
func (s Settings) Int(name string) int {
	n, err := strconv.Atoi(s[name])
	if err != nil {
		panic(fmt.Sprintf("lab: option %s is %q, not a number", name, s[name]))
	}
	return n
}

// Choices are the values that a run has of options, by name. Each is measured as cases of its own.
type Choices map[string][]string

// Made returns the suite's cases. An option that is not in choices has its defaults, and so does
// one with no value that the suite allows.
func (s Suite) Made(choices Choices) []Case {
	if s.Make == nil {
		return s.Cases
	}
	var cases []Case
	seen := map[string]bool{}
	for _, settings := range s.combinations(choices) {
		for _, c := range s.Make(settings) {
			if !seen[c.Name] { // a case without the setting is the same for each of its values
				seen[c.Name] = true
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// combinations has one Settings for each combination of the chosen values.
func (s *Suite) combinations(choices Choices) []Settings {
	all := []Settings{{}}
	for _, o := range s.Options {
		var longer []Settings
		for _, settings := range all {
			for _, value := range o.chosen(choices) {
				more := Settings{o.Name: value}
				maps.Copy(more, settings)
				longer = append(longer, more)
			}
		}
		all = longer
	}
	return all
}

func (o *Option) chosen(choices Choices) []string {
	var values []string
	for _, v := range choices[o.Name] {
		if slices.Contains(o.Values, v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return o.Defaults()
	}
	return values
}

// WithCases returns the suites with the cases that have these names, among others.
func WithCases(suites []Suite, names []string) []Suite {
	made := slices.Clone(suites)
	for i := range made {
		made[i].Cases = made[i].Made(made[i].Named(names))
	}
	return made
}

// has says whether a name of a case or row, or a pattern, is of the suite's stage, or of any.
func (s *Suite) has(name string) bool {
	stage, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	return strings.Contains(stage, "=") || strings.EqualFold(stage, s.Stage)
}

// Named are the values of the suite's options that names of its cases or rows have, or patterns for
// them.
func (s *Suite) Named(names []string) Choices {
	choices := Choices{}
	for _, name := range names {
		if !s.has(name) {
			continue
		}
		keys := record.KeysOf(name)
		for _, o := range s.Options {
			for value := range strings.SplitSeq(keys.Get(o.Name), ",") {
				if slices.Contains(o.Values, value) && !slices.Contains(choices[o.Name], value) {
					choices[o.Name] = append(choices[o.Name], value)
				}
			}
		}
	}
	return choices
}

// checkOptions says what is wrong with the suite's options.
func (s *Suite) checkOptions() error {
	for _, o := range s.Options {
		wrong := func(reason string) error { return fmt.Errorf("suite %s: option %q %s", s.Stage, o.Name, reason) }
		if s.Make == nil {
			return wrong("changes nothing: the suite has no Make")
		}
		if len(o.Values) == 0 {
			return wrong("has no values")
		}
		for _, v := range o.Values {
			if !part.MatchString(o.Name + "=" + v) {
				return wrong("is not of the form key=value: " + v)
			}
		}
		for _, v := range o.Default {
			if !slices.Contains(o.Values, v) {
				return wrong("has a default that it does not allow: " + v)
			}
		}
	}
	return nil
}
