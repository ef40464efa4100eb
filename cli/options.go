package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/lab"
	"postage/record"
)

// optionOf marks the flag of the options that have one name, in one suite or in several, with that
// name. The flag's values are measured one after the other. In a suite that does not allow a value,
// it leaves the option alone.
const optionOf = "option"

// valuesText has the values of an option, the defaults before the others: "0%,2%|0.5%|5%".
func valuesText(o *lab.Option) string {
	text := strings.Join(o.Defaults(), ",")
	for _, v := range o.Values {
		if !slices.Contains(o.Defaults(), v) {
			text += "|" + v
		}
	}
	return text
}

// addOptions adds the flags of the suites' options to a command, and returns their names.
func (all suites) addOptions(cmd *cobra.Command) (names []string, err error) {
	flags := cmd.Flags()
	for _, suite := range all {
		for _, o := range suite.Options {
			name := o.FlagName()
			usage := fmt.Sprintf("%s: %s, %s", suite.Stage, o.Doc, strings.ReplaceAll(valuesText(&o), "|", " | "))
			switch f := flags.Lookup(name); {
			case f == nil:
				flags.StringSlice(name, nil, usage)
				_ = flags.SetAnnotation(name, optionOf, []string{o.Name})
				names = append(names, name)
			case f.Annotations[optionOf] == nil:
				err = errors.Join(err, fmt.Errorf("the option --%s of %s: there is such a flag already", name, suite.Stage))
			default:
				f.Usage += "; " + usage
			}
		}
	}
	return names, err
}

// choices are the values that the command was given of options.
func choices(cmd *cobra.Command) lab.Choices {
	given := lab.Choices{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if option := f.Annotations[optionOf]; option != nil {
			given[option[0]] = f.Value.(pflag.SliceValue).GetSlice()
		}
	})
	return given
}

// optionNames are the flags that the suites' options have.
func optionNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[optionOf] != nil {
			names = append(names, f.Name)
		}
	})
	return names
}

// choicesOf are what patterns say of a suite's options, and the command's flags before them.
func choicesOf(cmd *cobra.Command, suite *lab.Suite, patterns []string) lab.Choices {
	all := suite.Named(patterns)
	for _, o := range suite.Options {
		if named := all[o.Name]; named != nil { // other patterns are for the defaults
			all[o.Name] = append(slices.Clone(o.Defaults()), named...)
		}
	}
	maps.Copy(all, choices(cmd))
	return all
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
	asked := choicesOf(cmd, suite, nil)
	for name, value := range found {
		if given, ok := asked[name]; ok && !slices.Equal(given, []string{value}) {
			return hinted(fmt.Errorf("%s=%s was asked for, and the server in use has %s=%s", name, strings.Join(given, ","), name, value),
				"leave out the flag: rows are named by what the server is")
		}
		asked[name] = []string{value}
	}
	suite.Cases = suite.Made(asked)
	return nil
}

// unusedOption is an error if a value that the command was given is in none of the rows.
func unusedOption(cmd *cobra.Command, entries []lab.Entry) error {
	given := choices(cmd)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		for _, value := range given[name] {
			has := func(e lab.Entry) bool { return record.KeysOf(e.Case.Name).Get(name) == value }
			if !slices.ContainsFunc(entries, has) {
				return hinted(fmt.Errorf("%s=%s: none of the rows has it", name, value),
					"`postage list` shows which cases there are, and the options of each stage")
			}
		}
	}
	return nil
}
