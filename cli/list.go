package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/report"
	"postage/lab"
	"postage/record"
)

func (p program) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [PATTERN...]",
		Short: "List the rows that can be measured",
		Long: `Lists cases with their rows: contender, role, module, what its proof checks, and its
properties. A star marks what a first look takes.

` + p.example().expand(patternHelp),
		Example: p.example().expand(`  postage list
  postage list {some}
  postage list --json`),
		ValidArgsFunction: p.completePatterns,
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := p.entries()
			if err != nil {
				return err
			}
			if slices.Contains(args, lab.All) {
				args = nil // a list without patterns has everything
			}
			if entries, err = lab.Match(entries, args); err != nil {
				return err
			}
			if asJSON {
				return listJSON(cmd.OutOrStdout(), entries)
			}
			return listText(cmd.OutOrStdout(), entries)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

const patternHelp = `A pattern is a stage or key=value parts or both, joined by slashes, all of which must
hold: {some}, {part}, key=a*,b, key!=c. Of several patterns one must hold. A
pattern with a colon is a filter in benchstat's syntax: '/key:(a OR b) -/other:c'.`

func listText(w io.Writer, entries []lab.Entry) error {
	modules := lab.Modules()
	var b strings.Builder
	for i, e := range entries {
		if i == 0 || e.Case != entries[i-1].Case {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s\n  %s\n", e.Case.Name, e.Case.Doc)
		}
		first := " "
		if e.FirstLook() {
			first = "*"
		}
		fmt.Fprintf(&b, "  %s %-44s %-9s", first, e.Contender.Name, e.Role)
		switch {
		case e.Role == record.RoleControl:
			fmt.Fprintf(&b, " the baseline again: its ratio must cover 1\n")
			continue
		case e.Contender.NotPossible != "":
			fmt.Fprintf(&b, " not possible: %s\n", e.Contender.NotPossible)
			continue
		}
		if e.Contender.Module != "" {
			fmt.Fprintf(&b, " %s %s", e.Contender.Module, modules[e.Contender.Module])
		}
		b.WriteByte('\n')
		fmt.Fprintf(&b, "        proof: %s\n", e.Contender.Checks)
		if s := pairs(e.Contender.Settings); s != "" {
			fmt.Fprintf(&b, "        settings: %s\n", s)
		}
		if s := pairs(e.Contender.Properties); s != "" {
			fmt.Fprintf(&b, "        properties: %s\n", s)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func pairs(m map[string]string) string {
	var s []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		s = append(s, key+"="+m[key])
	}
	return strings.Join(s, ", ")
}

// The JSON of a list, version 1.
type (
	// listed is a row that can be measured, as `list` prints it.
	listed struct {
		Name        string            `json:"name"`
		Stage       string            `json:"stage"`
		Case        string            `json:"case"`
		Doc         string            `json:"doc"`
		Headline    bool              `json:"headline"`
		Contender   string            `json:"contender"`
		Role        record.Role       `json:"role"`
		Baseline    string            `json:"baseline"`
		Module      string            `json:"module"`
		Settings    map[string]string `json:"settings"`
		Properties  map[string]string `json:"properties"`
		Checks      string            `json:"checks"`
		NotPossible *string           `json:"not_possible"`
	}
	listForm struct {
		Version int      `json:"version"`
		Rows    []listed `json:"rows"`
	}
)

func listJSON(w io.Writer, entries []lab.Entry) error {
	modules := lab.Modules()
	rows := []listed{}
	for _, e := range entries {
		c := &e.Contender
		row := listed{
			Name: e.Row(), Stage: e.Stage, Case: e.Case.Name, Doc: e.Case.Doc, Headline: e.FirstLook(),
			Contender: c.Name, Role: e.Role, Baseline: e.Case.Baseline,
			Module: strings.TrimSpace(c.Module + " " + modules[c.Module]), Settings: report.Map(c.Settings), Properties: report.Map(c.Properties), Checks: c.Checks,
		}
		if c.NotPossible != "" {
			row.NotPossible = &c.NotPossible
		}
		rows = append(rows, row)
	}
	return report.WriteJSON(w, listForm{1, rows})
}

// completePatterns completes the parts that rows are made of.
func (p program) completePatterns(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	done := toComplete[:strings.LastIndexByte(toComplete, '/')+1]
	seen := map[string]bool{}
	var words []string
	for _, e := range lab.Entries(p.suites) {
		for part := range strings.SplitSeq(e.Row(), "/") {
			if !seen[part] {
				seen[part] = true
				words = append(words, done+part)
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
