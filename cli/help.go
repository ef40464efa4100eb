package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flagGroup is flags, by name, that a command's help lists together.
type flagGroup struct{ title, flags string }

// helpInGroups has a command's help list only the flags that a first use takes, in that order, and
// `--help all` list all flags in groups. Flags without a group come last.
func helpInGroups(cmd *cobra.Command, first string, groups ...flagGroup) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", cmp.Or(cmd.Long, cmd.Short), cmd.UseLine(), cmd.Example)
		listed := map[string]bool{}
		list := func(title string, names []string) {
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			set.SortFlags = false
			for _, name := range names {
				if f := cmd.Flags().Lookup(name); !f.Hidden && !listed[name] {
					listed[name] = true
					set.AddFlag(f)
				}
			}
			if set.HasFlags() {
				fmt.Fprintf(out, "\n%s:\n%s", title, set.FlagUsagesWrapped(helpWidth))
			}
		}
		if !slices.Contains(cmd.Flags().Args(), "all") {
			list("Flags", strings.Fields(first))
			fmt.Fprintf(out, "\n%s --help all lists the other flags.\n", cmd.CommandPath())
			return
		}
		var rest []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { rest = append(rest, f.Name) })
		for _, g := range groups {
			list(g.title, strings.Fields(g.flags))
		}
		list("Others", rest)
	})
}

// helpWidth is how many columns a command's help takes.
const helpWidth = 80

// present has the help of a command and its subcommands call the program by its name, and wraps the
// paragraphs. Paragraphs with a line that begins with a space stay as they are.
func present(cmd *cobra.Command, program string) {
	cmd.Example = called(program, cmd.Example)
	paragraphs := strings.Split(called(program, cmd.Long), "\n\n")
	for i, text := range paragraphs {
		if !strings.Contains("\n"+text, "\n ") {
			paragraphs[i] = ansi.Wordwrap(strings.ReplaceAll(text, "\n", " "), helpWidth, "")
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(called(program, f.Usage), "\n", " ")
	})
	for _, below := range cmd.Commands() {
		present(below, program)
	}
}
