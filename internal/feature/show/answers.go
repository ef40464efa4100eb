package show

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// An answerView is what to use for a case: a line of the table that comes before the others.
type answerView struct {
	ID                                   string // of the case on a page
	For, Use, Instead, Cost, Saves, Sure string
	Or                                   string // "pbfast, vtprotobuf": contenders that are as good as Use, as far as can be told
	Pattern                              string // that selects the case
}

// answers returns a line for each case with a choice, and remarks: on a contender that is cheaper
// but departs from a standard, and on cases of packed messages.
func answers(cases []*caseOfRun) (all []answerView, remarks []string) {
	for _, c := range cases {
		if packs(c.CaseResult) {
			remarks = append(remarks, c.spoken()+": what pays depends on the bandwidth; the table says below which.")
			continue
		}
		advice := verdict.Advise(c.CaseResult)
		if advice == nil {
			continue
		}
		all = append(all, c.answer(advice))
		if r := advice.Departing; r != nil {
			still := "faster"
			if r.Row.Value == record.ValueCost {
				still = "cheaper"
			}
			x, _ := c.RatioOf(advice.Use, r)
			remarks = append(remarks, fmt.Sprintf("%s: %s is %s %s still, but departs from %s.",
				c.spoken(), called(c.CaseResult, r), report.Times(x.Value), still, r.Row.Properties[record.Departs]))
		}
	}
	return all, remarks
}

func (c *caseOfRun) answer(advice *verdict.Advice) answerView {
	a := answerView{
		ID:      c.id,
		For:     c.spoken(),
		Use:     called(c.CaseResult, advice.Use),
		Cost:    report.Duration(report.Rounded(advice.Use.NSOp.Value, 2)),
		Sure:    "?",
		Pattern: c.Name,
	}
	if advice.Instead != nil {
		a.Instead, a.Saves = called(c.CaseResult, advice.Instead), report.Times(advice.Saves.Value)
		if advice.Saves.Bounded() {
			a.Saves += fmt.Sprintf(" (%s–%s)", report.Multiple(advice.Saves.Low), report.Multiple(advice.Saves.High))
		}
	}
	switch percent := math.Round(100 * advice.Sure); {
	case percent == 100: // no number of resamples is certain
		a.Sure = ">99%"
	case percent >= 0:
		a.Sure = fmt.Sprintf("%.0f%%", percent)
	}
	var others []string
	for _, r := range advice.Also {
		if r != advice.Instead { // its interval is in the line
			others = append(others, called(c.CaseResult, r))
		}
	}
	a.Or = strings.Join(others[:min(2, len(others))], ", ")
	if more := len(others) - 2; more > 0 {
		a.Or += fmt.Sprintf(" +%d", more)
	}
	return a
}

// sentences returns what the stages say about each case.
func sentences(cases []*caseOfRun) (all []string) {
	for _, c := range cases {
		if c.says.Says != nil {
			all = append(all, c.says.Says(c.Record, c.CaseResult)...)
		}
	}
	return all
}

// spoken is the case as a person says it, if its stage knows how.
func (c *caseOfRun) spoken() string {
	name := ""
	if c.says.Spoken != nil {
		name = c.says.Spoken(c.Name)
	}
	if name == "" {
		name = c.Name
	}
	if c.run != "" {
		name = c.run + ": " + name
	}
	return name
}

// called shortens a contender's name to the fewest parts that no other contender of the case has
// together: "lib=webpush/mode=strict/as=request" becomes "webpush/strict" if the others have other
// modes.
func called(c *verdict.CaseResult, r *verdict.Result) string {
	var others [][]string
	for _, o := range c.Ways() {
		if o != r {
			others = append(others, strings.Split(o.Row.Contender, "/"))
		}
	}
	parts := strings.Split(r.Row.Contender, "/")
	kept := make([]bool, len(parts))
	for next := 0; ; {
		kept[next] = true
		others = slices.DeleteFunc(others, func(o []string) bool { return !slices.Contains(o, parts[next]) })
		if next = telling(parts, others); next < 0 {
			break
		}
	}
	name := ""
	for i, part := range parts {
		if kept[i] {
			name += "/" + part
		}
	}
	return report.Values(name[1:])
}

// telling finds the part that the fewest others have, -1 if all of them have all parts.
func telling(parts []string, others [][]string) int {
	best, fewest := -1, len(others)
	for i, part := range parts {
		have := 0
		for _, o := range others {
			if slices.Contains(o, part) {
				have++
			}
		}
		if have < fewest {
			best, fewest = i, have
		}
	}
	return best
}

// answerColumns are the table's columns. In 80 columns the last two stand below each line.
func answerColumns() []report.Column[answerView] {
	name := func(title string, text func(answerView) string) report.Column[answerView] {
		return report.Column[answerView]{Title: title, Left: true, Alike: true, Text: text} // each line is another case's
	}
	return []report.Column[answerView]{
		name("for", func(a answerView) string { return a.For }),
		name("use", func(a answerView) string { return a.Use }),
		name("instead of", func(a answerView) string { return a.Instead }),
		report.Figures("cost", func(a answerView) string { return a.Cost }),
		report.Figures("saves (95%)", func(a answerView) string { return a.Saves }),
		report.Figures("sure", func(a answerView) string { return a.Sure }),
		report.Texts("or", func(a answerView) string { return a.Or }).When(report.IfWide),
		report.Texts("pattern", func(a answerView) string { return a.Pattern }).When(report.IfWide),
	}
}

// writeAnswers writes the table, then the remarks, then more. If the cases can be run, it says how
// to run one further.
func writeAnswers(d *report.Doc, cases []*caseOfRun, more string, run bool) {
	all, remarks := answers(cases)
	columns := answerColumns()
	if d.Markdown { // whose first column is code
		columns = append(columns[len(columns)-1:], columns[:len(columns)-1]...)
	}
	t := &report.Doc{Form: d.Form}
	report.Table(t, columns, all, nil)
	i := -1 // the head
	for line := range strings.Lines(t.String()) {
		d.Printf("%s", line)
		if i >= 0 && !d.Wide && !d.Markdown {
			writeBelow(d, all[i], line)
		}
		i++
	}
	if len(all) > 0 && !d.Markdown {
		d.Printf("\n")
	}
	d.Paragraph("- ", remarks...)
	notes := []string{more}
	if len(all) > 0 && run {
		notes = append(notes, "To measure a case further: postage run PATTERN.")
	}
	d.Paragraph("", slices.DeleteFunc(notes, func(s string) bool { return s == "" })...)
}

// writeBelow writes what stands below a line of the table: the case's pattern, unless the line
// begins with it, and what is as good as the advice.
func writeBelow(d *report.Doc, a answerView, line string) {
	below := ""
	if !strings.HasPrefix(line, a.Pattern) {
		below = "  " + a.Pattern
	}
	if a.Or != "" {
		below += "  or " + a.Or
	}
	if below != "" {
		d.Lines(report.Dim, "", below, "    ")
	}
}
