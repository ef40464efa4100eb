package claims

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
)

// Print writes the claims, with what was published and what was measured.
func (all Claims) Print(w io.Writer, form report.Form) error {
	d := &report.Doc{Form: form}
	switch {
	case form.JSON:
		return report.WriteJSON(w, all.form())
	case form.Markdown:
		d.Printf("| claim | published | here (95%% interval) | verdict | why |\n| --- | --- | --- | --- | --- |\n")
		for i := range all.List {
			c := &all.List[i]
			d.Printf("| %s | %s | %s | **%s** | %s |\n", report.Escape(fmt.Sprintf("%d. %s (%s)", c.Number, c.Text, c.Page)),
				report.Escape(strings.Join(c.each((*Measure).published), "; ")), report.Escape(strings.Join(c.measured(), "; ")), c.Verdict, report.Escape(c.Why))
		}
		d.Printf("\n")
		d.Note(all.Note)
		return d.Print(w)
	}
	page := ""
	say := func(format string, a ...any) { d.Lines(lipgloss.Style{}, "", fmt.Sprintf(format, a...), "        ") }
	for _, c := range all.List {
		if c.Page != page {
			page = c.Page
			d.Printf("%s\n", page)
		}
		say("  %2d. %s: %s", c.Number, c.Text, strings.ToUpper(c.Verdict))
		for i := range c.Measures {
			m := &c.Measures[i]
			say("      %s: published %s, here %s: %s", m.title(), m.published(), m.found(), m.Verdict)
		}
		if text := c.unavailable(); text != "" {
			say("      %s in this program", text)
		}
		say("      why: %s", c.Why)
	}
	d.Printf("\n")
	d.Lines(lipgloss.Style{}, "", all.Note, "")
	return d.Print(w)
}

// unavailable says why a claim has no measures, "" if it has some.
func (c *Claim) unavailable() string {
	if len(c.Measures) > 0 {
		return ""
	}
	return "stage " + c.Stage + " is not available"
}

// measured says what was measured for a claim, or why nothing was.
func (c *Claim) measured() []string {
	if text := c.unavailable(); text != "" {
		return []string{text}
	}
	return c.each((*Measure).found)
}

func (c *Claim) each(text func(*Measure) string) []string {
	var all []string
	for i := range c.Measures {
		all = append(all, c.Measures[i].title()+": "+text(&c.Measures[i]))
	}
	return all
}

func (m *Measure) title() string {
	switch m.Of {
	case Allocs:
		return m.What + ", allocations"
	case Bytes:
		return m.What + ", bytes allocated"
	}
	return m.What
}

func (m *Measure) published() string {
	switch {
	case m.Implied:
		return "nothing, would be " + report.Ratio(m.Published)
	case m.Published == 0:
		return "none"
	case m.AtMost:
		return "at most " + report.Ratio(m.Published)
	}
	return report.Ratio(m.Published)
}

func (m *Measure) found() string {
	switch {
	case m.Counts != nil && (m.Counts[0] == 0 || m.Counts[1] == 0):
		return fmt.Sprintf("%s against %s", words.Integer(m.Counts[0]), words.Integer(m.Counts[1]))
	case m.Counts != nil:
		return fmt.Sprintf("%s (%s against %s)", report.Ratio(float64(m.Counts[0])/float64(m.Counts[1])), words.Integer(m.Counts[0]), words.Integer(m.Counts[1]))
	case m.Here == nil:
		return "n/a"
	}
	return report.RatioText(*m.Here)
}

// ListForm is the JSON of claims, version 1.
type ListForm struct {
	Version int     `json:"version"`
	Claims  []Claim `json:"claims"`
}

func (all Claims) form() ListForm {
	form := ListForm{1, []Claim{}}
	for _, c := range all.List {
		c.Measures = report.List(c.Measures)
		form.Claims = append(form.Claims, c)
	}
	return form
}
