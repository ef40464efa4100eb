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
	option  lab.Option // the first suite's
	stages  []string
	allowed []string // by any of the suites
	values  []string
}

// ofOption marks the flags of options.
const ofOption = "option"

func (f *optionFlag) String() string { return strings.Join(f.values, ",") }
func (f *optionFlag) Type() string   { return f.option.Name }
func (f *optionFlag) Set(text string) error {
	values := strings.Split(text, ",")
	for _, v := range values {
		if !slices.Contains(f.allowed, v) {
			return fmt.Errorf("%s cannot be %q: want %s", f.option.Name, v, strings.Join(f.allowed, ", "))
		}
	}
	f.values = values
	return nil
}

// usage is the flag's line of help.
func (f *optionFlag) usage() string {
	return fmt.Sprintf("%s, of %s: %s", f.option.Doc, strings.Join(f.stages, " and "), strings.Join(f.allowed, ", "))
}

// addOptions adds the flags of the suites' options to a command, and returns their names.
func (p program) addOptions(cmd *cobra.Command) (names []string, err error) {
	flags := map[string]*optionFlag{}
	for _, suite := range p.suites {
		for _, o := range suite.Options {
			name := o.FlagName()
			if flags[name] == nil {
				flags[name] = &optionFlag{option: o}
				names = append(names, name)
			}
			f := flags[name]
			f.stages = append(f.stages, suite.Stage)
			for _, v := range o.Values {
				if !slices.Contains(f.allowed, v) {
					f.allowed = append(f.allowed, v)
				}
			}
		}
	}
	for _, name := range names {
		if cmd.Flags().Lookup(name) != nil {
			err = errors.Join(err, fmt.Errorf("the suite %s has an option --%s, which already exists", flags[name].stages[0], name))
			continue
		}
		cmd.Flags().Var(flags[name], name, flags[name].usage())
		_ = cmd.Flags().SetAnnotation(name, ofOption, flags[name].stages)
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

// choicesOf are what the command's flags say of a suite's options.
func choicesOf(cmd *cobra.Command, suite *lab.Suite) lab.Choices {
	choices := lab.Choices{}
	for _, f := range optionsGiven(cmd) {
		for _, o := range suite.Options {
			if o.FlagName() == f.option.FlagName() {
				choices[o.Name] = f.values
			}
		}
	}
	return choices
}

// made are the suites with their cases, by the options that the command was given. It fails if a
// suite has a mistake.
func (p program) made(cmd *cobra.Command) ([]lab.Suite, error) {
	suites := slices.Clone(p.suites)
	for i := range suites {
		suites[i].Cases = suites[i].Made(choicesOf(cmd, &suites[i]))
	}
	if err := lab.Check(suites); err != nil {
		return nil, fmt.Errorf("these suites cannot be measured: %w", err)
	}
	return suites, nil
}

// selected are the rows that a run is asked for. If some are on a server that the user has named,
// they are called by what that server is.
func (p program) selected(cmd *cobra.Command, patterns []string) ([]lab.Entry, error) {
	suites, err := p.made(cmd)
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
	choices := choicesOf(cmd, suite)
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
			has := func(e lab.Entry) bool { return record.KeysOf(e.Case.Name).Get(f.option.Name) == value }
			if !slices.ContainsFunc(entries, has) {
				return hinted(fmt.Errorf("--%s %s: none of the rows has it", f.option.FlagName(), value),
					fmt.Sprintf("`postage list --%s %s` shows those that have", f.option.FlagName(), value))
			}
		}
	}
	return nil
}
