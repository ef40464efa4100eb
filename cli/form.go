package cli

import (
	"os"

	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"postage/internal/kit/report"
)

// formFlags are the flags that say how a result is printed.
type formFlags struct{ report.Form }

// register adds them to a command that has tables. They exclude each other, and clashes.
func (f *formFlags) register(cmd *cobra.Command, clashes ...string) {
	cmd.Flags().BoolVar(&f.JSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&f.Markdown, "markdown", false, "print Markdown, as GitHub shows it")
	cmd.Flags().BoolVar(&f.Wide, "wide", false, "print all columns, however wide")
	cmd.MarkFlagsMutuallyExclusive(append([]string{"json", "markdown", "wide"}, clashes...)...)
}

// form is what was asked for, in colour where standard output is a terminal that shows it, and the
// user wants it (NO_COLOR, CLICOLOR_FORCE and the like).
func (f *formFlags) form(cmd *cobra.Command) report.Form {
	form := f.Form
	form.Color = colorprofile.Detect(cmd.OutOrStdout(), os.Environ()) > colorprofile.ASCII
	return form
}
