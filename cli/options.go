package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/lab"
	"postage/record"
)

// optionFlag is the flag of the options that have one name, in one suite or in several. Its text is
// values with commas between them: each is measured. In a suite that does not allow a value, the
// flag leaves the option alone.
type optionFlag struct {
	name    string   // of the options
	suites  []string // what it sets in each suite: "send: requests under way, 8 | 1 | 64"
	allowed []string // by any of the suites
	values  []string
}

func (f *optionFlag) String() string { return strings.Join(f.values, ",") }
func (f *optionFlag) Type() string   { return "values" }
func (f *optionFlag) Set(text string) error {
	values := strings.Split(text, ",")
	for _, v := range values {
		if !slices.Contains(f.allowed, v) {
			return fmt.Errorf("%s cannot be %q: want %s", f.name, v, strings.Join(f.allowed, ", "))
		}
	}
	f.values = values
	return nil
}

// valuesText has the values of an option, with the chosen ones before the others: "0%,2%|0.5%|5%".
func valuesText(o *lab.Option, chosen []string) string {
	text := strings.Join(chosen, ",")
	for _, v := range o.Values {
		if !slices.Contains(chosen, v) {
			text += "|" + v
		}
	}
	return text
}

// addOptions adds the flags of the suites' options to a command, and returns their names.
func (all suites) addOptions(cmd *cobra.Command) (names []string, err error) {
	flags := map[string]*optionFlag{}
	for _, suite := range all {
		for _, o := range suite.Options {
			name := o.FlagName()
			if flags[name] == nil {
				flags[name] = &optionFlag{name: o.Name}
				names = append(names, name)
			}
			f := flags[name]
			f.suites = append(f.suites, fmt.Sprintf("%s: %s, %s", suite.Stage, o.Doc, strings.ReplaceAll(valuesText(&o, o.Defaults()), "|", " | ")))
			for _, v := range o.Values {
				if !slices.Contains(f.allowed, v) {
					f.allowed = append(f.allowed, v)
				}
			}
		}
	}
	for _, name := range names {
		if cmd.Flags().Lookup(name) != nil {
			err = errors.Join(err, fmt.Errorf("the option --%s of %s: there is such a flag already", name, flags[name].suites[0]))
			continue
		}
		cmd.Flags().Var(flags[name], name, strings.Join(flags[name].suites, "; "))
	}
	return names, err
}

// optionsGiven are the options' flags that the command was given.
func optionsGiven(cmd *cobra.Command) (given []*optionFlag) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if option, ok := f.Value.(*optionFlag); ok {
			given = append(given, option)
		}
	})
	return given
}

// optionNames are the flags that the suites' options have.
func optionNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Value.(*optionFlag); ok {
			names = append(names, f.Name)
		}
	})
	return names
}

// choicesOf are what patterns say of a suite's options, and the command's flags before them.
func choicesOf(cmd *cobra.Command, suite *lab.Suite, patterns []string) lab.Choices {
	choices := suite.Named(patterns)
	for _, o := range suite.Options {
		if named := choices[o.Name]; named != nil { // other patterns are for the defaults
			choices[o.Name] = append(slices.Clone(o.Defaults()), named...)
		}
	}
	for _, f := range optionsGiven(cmd) {
		for _, o := range suite.Options {
			if o.Name == f.name {
				choices[o.Name] = f.values
			}
		}
	}
	return choices
}

// made are the suites with their cases, by the options that the command and its patterns name. It
// fails if a suite has a mistake.
func (all suites) made(cmd *cobra.Command, patterns []string) ([]lab.Suite, error) {
	suites := slices.Clone(all)
	for i := range suites {
		suites[i].Cases = suites[i].Made(choicesOf(cmd, &suites[i], patterns))
	}
	if err := lab.Check(suites); err != nil {
		return nil, fmt.Errorf("these suites cannot be measured: %w", err)
	}
	return suites, nil
}

// selected are the rows that a run is asked for. If some are on a server that the user has named,
// they are called by what that server is.
func (all suites) selected(cmd *cobra.Command, patterns []string) ([]lab.Entry, error) {
	suites, err := all.made(cmd, patterns)
	if err != nil {
		return nil, err
	}
	entries, unmatched := lab.Select(suites, patterns)
	for i := range suites {
		onServer := func(e lab.Entry) bool { return e.Stage == suites[i].Stage && e.Case.Service != nil }
		if suites[i].Server == nil || unmatched == nil && !slices.ContainsFunc(entries, onServer) {
			continue
		}
		if err := askServer(cmd, &suites[i]); err != nil {
			return nil, err
		}
	}
	if entries, err = lab.Select(suites, patterns); err != nil {
		return nil, err
	}
	return entries, unusedOption(cmd, entries)
}

// askServer makes a suite's cases anew by what the user's server is, if one is named.
func askServer(cmd *cobra.Command, suite *lab.Suite) error {
	found, err := suite.Server(cmd.Context())
	if err != nil || len(found) == 0 {
		return err
	}
	choices := choicesOf(cmd, suite, nil)
	for name, value := range found {
		if given, ok := choices[name]; ok && !slices.Equal(given, []string{value}) {
			return hinted(fmt.Errorf("%s=%s was asked for, and the server in use has %s=%s", name, strings.Join(given, ","), name, value), "leave out the flag: rows are named by what the server is")
		}
		choices[name] = []string{value}
	}
	suite.Cases = suite.Made(choices)
	return nil
}

// unusedOption is an error if a value that the command was given is in none of the rows.
func unusedOption(cmd *cobra.Command, entries []lab.Entry) error {
	for _, f := range optionsGiven(cmd) {
		for _, value := range f.values {
			has := func(e lab.Entry) bool { return record.KeysOf(e.Case.Name).Get(f.name) == value }
			if !slices.ContainsFunc(entries, has) {
				return hinted(fmt.Errorf("%s=%s: none of the rows has it", f.name, value), "`postage list` shows which cases there are, and the options of each stage")
			}
		}
	}
	return nil
}
