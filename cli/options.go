package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postage/lab"
)

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

// choicesOf are the defaults of a suite's options and what patterns name beside them.
func choicesOf(suite *lab.Suite, patterns []string) lab.Choices {
	all := suite.Named(patterns)
	for _, o := range suite.Options {
		if named := all[o.Name]; named != nil { // other patterns are for the defaults
			all[o.Name] = append(slices.Clone(o.Defaults()), named...)
		}
	}
	return all
}

// made are the suites with their cases, by the options that patterns name. It fails if a suite has a
// mistake.
func (all suites) made(patterns []string) ([]lab.Suite, error) {
	suites := slices.Clone(all)
	for i := range suites {
		suites[i].Cases = suites[i].Made(choicesOf(&suites[i], patterns))
	}
	if err := lab.Check(suites); err != nil {
		return nil, fmt.Errorf("these suites cannot be measured: %w", err)
	}
	return suites, nil
}

// selected are the rows that a run is asked for. If some are on a server that the user has named,
// they are called by what that server is.
func (all suites) selected(cmd *cobra.Command, patterns []string) ([]lab.Entry, error) {
	suites, err := all.made(patterns)
	if err != nil {
		return nil, err
	}
	entries, unmatched := lab.Select(suites, patterns)
	for i := range suites {
		onServer := func(e lab.Entry) bool { return e.Stage == suites[i].Stage && e.Case.Service != nil }
		if suites[i].Server == nil || unmatched == nil && !slices.ContainsFunc(entries, onServer) {
			continue
		}
		if err := askServer(cmd, &suites[i], patterns); err != nil {
			return nil, err
		}
	}
	return lab.Select(suites, patterns)
}

// askServer makes a suite's cases anew by what the user's server is, if one is named.
func askServer(cmd *cobra.Command, suite *lab.Suite, patterns []string) error {
	found, err := suite.Server(cmd.Context())
	if err != nil || len(found) == 0 {
		return err
	}
	asked, given := choicesOf(suite, patterns), suite.Named(patterns)
	for name, value := range found {
		if values := given[name]; len(values) > 0 && !slices.Contains(values, value) {
			return hinted(fmt.Errorf("%s=%s was asked for, and the server in use has %s=%s", name, strings.Join(values, ","), name, value),
				"leave it out of the pattern: rows are named by what the server is")
		}
		asked[name] = []string{value}
	}
	suite.Cases = suite.Made(asked)
	return nil
}
