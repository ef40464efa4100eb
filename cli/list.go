package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"postage/internal/kit/words"
	"postage/lab"
	"postage/record"
)

func (p program) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [PATTERN...]",
		Short: "List the cases and rows that can be measured",
		Long: `Without a pattern it lists each stage's question, its cases, and the options that refine them.
A line of cases is a pattern for them.

With a pattern it lists the rows: contender, role, module, what the proof checks.
"all" lists every row.

` + p.suites.expand(patternHelp),
		Example: p.suites.expand(`  postage list
  postage list {some}
  postage list {case}/{part}`),
		ValidArgsFunction: p.suites.completePatterns,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		suites, err := p.suites.made(args)
		if err != nil {
			return err
		}
		patterns := args
		if slices.Contains(args, lab.All) {
			patterns = nil
		}
		entries, err := lab.Find(suites, patterns)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			return listRows(cmd.OutOrStdout(), entries)
		}
		return listCases(cmd, suites)
	}
	return cmd
}

const patternHelp = `A pattern is a stage or key=value parts or both, joined by slashes, and all must
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
		line := ""
		for _, o := range s.Options {
			text := "  " + o.Name + "=" + valuesText(&o)
			if line != "" && len(line)+len(text) > helpWidth {
				fmt.Fprintln(&b, line)
				line = ""
			}
			line += text
		}
		if line != "" {
			fmt.Fprintln(&b, line)
		}
	}
	key := fmt.Sprintf("%s. A first look takes the starred ones; the number counts their contenders. "+
		"Values behind an option's first | are measured if a pattern names them. `%s` lists the rows.",
		words.Counted(number, "case"), called(cmd.Root().Name(), "postage list KEY=VALUE"))
	fmt.Fprintln(&b, ansi.Wordwrap(key, helpWidth, ""))
	_, err := io.WriteString(cmd.OutOrStdout(), b.String())
	return err
}

// A group is cases whose names have the same keys, apart from options.
type group struct {
	keys         record.Keys // of the first case
	values       [][]string  // of each key
	fewest, most int         // contenders, without floors and control
	first        bool        // a first look takes some
	question     string      // the first case's
}

// groupsOf are the suite's cases in groups.
func groupsOf(s *lab.Suite) (groups []*group) {
	for i := range s.Cases {
		c := &s.Cases[i]
		var keys record.Keys
		for _, key := range record.KeysOf(c.Name) {
			if !slices.ContainsFunc(s.Options, func(o lab.Option) bool { return o.Name == key.Name }) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			keys = record.KeysOf(c.Name)
		}
		at := slices.IndexFunc(groups, func(g *group) bool { return g.takes(keys) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{keys: keys, values: make([][]string, len(keys)), fewest: len(c.Contenders), question: c.Doc})
		}
		groups[at].add(c, keys)
	}
	return groups
}

// takes says whether a case of these keys is of the group. A stage tells its questions apart by the
// key slice: no group has two of its values.
func (g *group) takes(keys record.Keys) bool {
	return keys.Get("slice") == g.keys.Get("slice") &&
		slices.EqualFunc(keys, g.keys, func(a, b record.Key) bool { return a.Name == b.Name })
}

func (g *group) add(c *lab.Case, keys record.Keys) {
	for i, key := range keys {
		if !slices.Contains(g.values[i], key.Value) {
			g.values[i] = append(g.values[i], key.Value)
		}
	}
	ways := 0
	for _, contender := range c.Contenders {
		if !contender.Floor {
			ways++
		}
	}
	g.fewest, g.most = min(g.fewest, ways), max(g.most, ways)
	g.first = g.first || c.Headline
}

// line is the group's pattern, how many contenders its cases have, and its question as far as there
// is room.
func (g *group) line() string {
	var parts []string
	for i, key := range g.keys {
		parts = append(parts, key.Name+"="+strings.Join(g.values[i], ","))
	}
	star := " "
	if g.first {
		star = "*"
	}
	ways := fmt.Sprint(g.fewest)
	if g.most > g.fewest {
		ways += "-" + fmt.Sprint(g.most)
	}
	pattern := strings.ReplaceAll(ansi.Wrap(strings.Join(parts, "/"), helpWidth-10, ",/"), "\n", "\n    ")
	last := pattern[strings.LastIndexByte(pattern, '\n')+1:]
	question := ansi.Truncate(g.question, max(0, helpWidth-len(last)-max(0, 29-len(last))-11), "…")
	return fmt.Sprintf("%s %-29s %5s  %s", star, pattern, ways, question) + "\n"
}

// indented wraps a text, with its first line after a title.
func indented(title, text string) string {
	space := "\n" + strings.Repeat(" ", len(title))
	return title + strings.ReplaceAll(ansi.Wordwrap(text, helpWidth-len(title), ""), "\n", space)
}

// listRows lists rows, below their cases. What the baseline's proof checks is said once.
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
	checks := c.Contenders[0].Checks
	if checks != "" {
		fmt.Fprintf(b, "%s\n", indented("  proof: ", checks))
	}
	for i := range rows {
		listRow(b, &rows[i], modules, checks)
	}
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
