package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/lab"
	"postage/record"
)

func (p program) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [PATTERN...]",
		Short: "List the cases and rows that can be measured",
		Long: `Without a pattern it lists, for each stage, its question, its cases and the options of
a run that refine them. Cases that differ in one key share a line, which is a pattern
for them. A star marks what a first look takes.

With a pattern it lists the rows: contender, role, module, what the proof checks.
"all" lists every row. --json has settings and properties too.

` + p.suites.example().expand(patternHelp),
		Example: p.suites.example().expand(`  postage list
  postage list {some}
  postage list {case} --json`),
		ValidArgsFunction: p.suites.completePatterns,
	}
	_, twice := p.suites.addOptions(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		suites, err := p.suites.made(cmd, args)
		if err := cmp.Or(twice, err); err != nil {
			return err
		}
		patterns := args
		if slices.Contains(args, lab.All) {
			patterns = nil
		}
		entries, err := lab.Find(suites, patterns)
		if err := cmp.Or(err, unusedOption(cmd, entries)); err != nil {
			return err
		}
		switch {
		case asJSON:
			return listJSON(cmd.OutOrStdout(), entries)
		case len(args) > 0:
			return listRows(cmd.OutOrStdout(), entries)
		}
		return listCases(cmd, suites)
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

const patternHelp = `A pattern is a stage or key=value parts or both, joined by slashes, all of which must
hold: {some}, {part}, key=a*,b, key!=c. Of several patterns one must hold. A
pattern with a colon is a filter in benchstat's syntax: '/key:(a OR b) -/other:c'.`

// listCases lists the cases of all suites on one page.
func listCases(cmd *cobra.Command, suites []lab.Suite) error {
	var b strings.Builder
	number := 0
	for i := range suites {
		s := &suites[i]
		fmt.Fprintf(&b, "%s\n", ansi.Wordwrap(strings.ToUpper(s.Stage[:1])+s.Stage[1:]+": "+s.Doc, helpWidth, ""))
		number += len(s.Cases)
		for _, g := range groupsOf(s) {
			b.WriteString(g.line())
		}
		writeOptions(&b, s.Options, choicesOf(cmd, s, nil))
	}
	fmt.Fprintf(&b, "%s. A pattern lists the rows that it names: `%s`.\n", words.Counted(number, "case"), called(cmd.Root().Name(), "postage list KEY=VALUE"))
	_, err := io.WriteString(cmd.OutOrStdout(), b.String())
	return err
}

// A group is cases whose names have the same keys, and values that differ in one key at a time.
// Keys of options are left out.
type group struct {
	keys         []string
	values       [][]string // of each key
	fewest, most int        // contenders, without floors and control
	first        bool       // a first look takes some
	question     string     // the first case's
}

// groupsOf are the suite's cases in groups.
func groupsOf(s *lab.Suite) []*group {
	var groups []*group
	for i := range s.Cases {
		groups = append(groups, groupOf(&s.Cases[i], s.Options))
	}
	for merged := true; merged; {
		merged = false
		for i := 0; i < len(groups); i++ {
			for j := i + 1; j < len(groups); j++ {
				if groups[i].take(groups[j]) {
					groups = slices.Delete(groups, j, j+1)
					merged = true
					j--
				}
			}
		}
	}
	return groups
}

func groupOf(c *lab.Case, options []lab.Option) *group {
	g := &group{first: c.Headline, question: c.Doc}
	for _, contender := range c.Contenders {
		if !contender.Floor {
			g.fewest++
		}
	}
	g.most = g.fewest
	names, own := record.KeysOf(c.Name), record.Keys{}
	for _, key := range names {
		if !slices.ContainsFunc(options, func(o lab.Option) bool { return o.Name == key.Name }) {
			own = append(own, key)
		}
	}
	if len(own) == 0 {
		own = names
	}
	for _, key := range own {
		g.keys = append(g.keys, key.Name)
		g.values = append(g.values, []string{key.Value})
	}
	return g
}

// slice is the key by which a stage tells its questions apart: no line has several.
const slice = "slice"

// take adds the cases of another group, if at most one key has other values.
func (g *group) take(other *group) bool {
	if !slices.Equal(g.keys, other.keys) {
		return false
	}
	differs := -1
	for i := range g.values {
		if slices.Equal(g.values[i], other.values[i]) {
			continue
		}
		if differs >= 0 || g.keys[i] == slice {
			return false
		}
		differs = i
	}
	if differs >= 0 {
		for _, v := range other.values[differs] {
			if !slices.Contains(g.values[differs], v) {
				g.values[differs] = append(g.values[differs], v)
			}
		}
	}
	g.fewest = min(g.fewest, other.fewest)
	g.most = max(g.most, other.most)
	g.first = g.first || other.first
	return true
}

// line is the group's pattern, how many contenders its cases have, and its question as far as there
// is room.
func (g *group) line() string {
	var parts []string
	for i, key := range g.keys {
		parts = append(parts, key+"="+strings.Join(g.values[i], ","))
	}
	star := " "
	if g.first {
		star = "*"
	}
	ways := fmt.Sprint(g.fewest)
	if g.most > g.fewest {
		ways += "-" + fmt.Sprint(g.most)
	}
	text := fmt.Sprintf("%s %-29s %5s  %s", star, strings.Join(parts, "/"), ways, g.question)
	return ansi.Truncate(text, helpWidth, "…") + "\n"
}

// writeOptions writes each option with its values, the chosen ones first.
func writeOptions(b *strings.Builder, options []lab.Option, choices lab.Choices) {
	line := ""
	for i := range options {
		o := &options[i]
		chosen := choices[o.Name]
		if len(chosen) == 0 {
			chosen = o.Defaults()
		}
		text := "--" + o.FlagName() + " " + valuesText(o, chosen)
		if line != "" && len(line)+len(text) > helpWidth-2 {
			fmt.Fprintf(b, "%s\n", line)
			line = ""
		}
		line += "  " + text
		if len(line) > helpWidth {
			at := strings.LastIndexByte(line[:helpWidth], '|') + 1
			fmt.Fprintf(b, "%s\n", line[:at])
			line = "      " + line[at:]
		}
	}
	if line != "" {
		fmt.Fprintf(b, "%s\n", line)
	}
}

// indented wraps a text, with its first line after a title.
func indented(title, text string) string {
	space := "\n" + strings.Repeat(" ", len(title))
	return title + strings.ReplaceAll(ansi.Wordwrap(text, helpWidth-len(title), ""), "\n", space)
}

// listRows lists rows, below their cases. A proof that most rows of a case have is said once.
func listRows(w io.Writer, entries []lab.Entry) error {
	modules := lab.Modules()
	var b strings.Builder
	for first := 0; first < len(entries); {
		next := first
		for next < len(entries) && entries[next].Case == entries[first].Case {
			next++
		}
		if first > 0 {
			b.WriteByte('\n')
		}
		listCase(&b, entries[first:next], modules)
		first = next
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func listCase(b *strings.Builder, rows []lab.Entry, modules map[string]string) {
	c := rows[0].Case
	fmt.Fprintf(b, "%s\n%s\n", c.Name, indented("  ", c.Doc))
	checks := commonest(rows)
	if checks != "" {
		fmt.Fprintf(b, "%s\n", indented("  proof: ", checks))
	}
	for i := range rows {
		listRow(b, &rows[i], modules, checks)
	}
}

// commonest is the proof that most of the rows have.
func commonest(rows []lab.Entry) (checks string) {
	times := map[string]int{}
	for i := range rows {
		c := &rows[i].Contender
		if c.NotPossible != "" || rows[i].Role == record.RoleControl {
			continue
		}
		times[c.Checks]++
		if times[c.Checks] > times[checks] {
			checks = c.Checks
		}
	}
	return checks
}

func listRow(b *strings.Builder, e *lab.Entry, modules map[string]string, checks string) {
	c := &e.Contender
	star := " "
	if e.FirstLook() {
		star = "*"
	}
	fmt.Fprintf(b, "%s %-44s %-9s", star, c.Name, e.Role)
	switch {
	case e.Role == record.RoleControl:
		b.WriteString(" the baseline again: its ratio must cover 1\n")
		return
	case c.NotPossible != "":
		fmt.Fprintf(b, " not possible: %s\n", c.NotPossible)
		return
	}
	if c.Module != "" {
		fmt.Fprintf(b, " %s %s", c.Module, modules[c.Module])
	}
	b.WriteByte('\n')
	if c.Checks != checks {
		fmt.Fprintf(b, "%s\n", indented("      proof: ", c.Checks))
	}
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
func (all suites) completePatterns(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	done := toComplete[:strings.LastIndexByte(toComplete, '/')+1]
	seen := map[string]bool{}
	var words []string
	for _, e := range lab.Entries(all) {
		for part := range strings.SplitSeq(e.Row(), "/") {
			if !seen[part] {
				seen[part] = true
				words = append(words, done+part)
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
