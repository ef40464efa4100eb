package cli

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
)

// addFlags adds the suites' flags to a command's. It is an error if a flag is there already.
func (all suites) addFlags(cmd *cobra.Command) error {
	var errs []error
	for _, suite := range all {
		if suite.Flags == nil {
			continue
		}
		own := flag.NewFlagSet(suite.Stage, flag.ContinueOnError)
		suite.Flags(own)
		own.VisitAll(func(f *flag.Flag) {
			if cmd.Flags().Lookup(f.Name) != nil {
				errs = append(errs, fmt.Errorf("the suite %s has a flag --%s, which already exists", suite.Stage, f.Name))
				return
			}
			cmd.Flags().AddGoFlag(f)
			_ = cmd.Flags().SetAnnotation(f.Name, ofSuite, []string{suite.Stage})
		})
	}
	return errors.Join(errs...)
}

// ofSuite marks the flags that suites have added.
const ofSuite = "suite"

// suiteFlags lists the flags to repeat when a run is resumed: the record does not name its servers.
func suiteFlags(cmd *cobra.Command) string {
	text := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Annotations[ofSuite] != nil {
			text += " --" + f.Name + " " + f.Value.String()
		}
	})
	return text
}

// choose has each suite look at its part of what is to be measured.
func (all suites) choose(cmd *cobra.Command, entries []lab.Entry, choice lab.Choice) ([]lab.Entry, error) {
	var chosen []lab.Entry
	for _, suite := range all {
		c := new(choice)
		for _, e := range entries {
			if e.Stage == suite.Stage {
				c.Entries = append(c.Entries, e)
			}
		}
		if suite.Choose != nil {
			if err := suite.Choose(c); err != nil {
				return nil, err
			}
		}
		if c.Note != "" {
			say(cmd, "%s", c.Note)
		}
		chosen = append(chosen, c.Entries...)
	}
	if len(chosen) == 0 {
		return nil, hinted(errors.New("nothing is left to be measured"), "`postage list` shows all rows")
	}
	if choice.Resumed {
		return entries, nil // in the record's order
	}
	return chosen, nil
}

// serveCommand is the command of the server processes that contenders and `load` start.
func (all suites) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve NAME",
		Short:  "Serves a running postage (started by it)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			servers := ownServers()
			for _, suite := range all {
				maps.Copy(servers, suite.Servers)
			}
			return proc.ServeNamed(servers, args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// expand writes a row of the suites into a help text: {stage}, {case}, {some}, a pattern for several
// cases, and {part}, which identifies the contender. If there is one, it is of a first look,
// and needs no server.
func (all suites) expand(text string) string {
	const none = "Stage/key=value"
	name, part := none, "lib=name"
	for _, suite := range all {
		entries := lab.Entries([]lab.Suite{suite})
		at := slices.IndexFunc(entries, func(e lab.Entry) bool {
			return e.Role == record.RoleContender && e.Case.Headline && e.Case.Value != record.ValueWall
		})
		if at < 0 && (len(entries) == 0 || name != none) {
			continue
		}
		name = entries[max(0, at)].Case.Name
		part, _, _ = strings.Cut(entries[max(0, at)].Contender.Name, "/")
		if at >= 0 {
			break
		}
	}
	parts := strings.Split(name, "/")
	some := parts[0] + "/" + parts[len(parts)-1]
	return strings.NewReplacer("{stage}", strings.ToLower(parts[0]), "{case}", name, "{some}", some, "{part}", part).Replace(text)
}
