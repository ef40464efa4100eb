package report

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/internal/words"
)

// Claims are published claims with their verdicts, and how to read them. Package claims decides;
// this one prints.
type Claims struct {
	List []Claim
	Note string // how the figures and the verdicts are to be read
}

// Claim is what someone published, beside what was measured of it here.
type Claim struct {
	Number   int
	Page     string // where it was published
	Stage    string // that it is about: "encode"
	Text     string
	Why      string         // what was wrong with the page, or what explains a difference
	Verdict  string         // "holds"
	Like     stats.Verdict  // a page shows Verdict in the colour of this; "" for none
	Measures []ClaimMeasure // none where no stage measures them
}

// ClaimMeasure is a figure of a row as a multiple of the same figure of another.
type ClaimMeasure struct {
	What      string
	Of        Figure
	Row, Base string
	Published float64 // the ratio
	AtMost    bool    // anything below Published is as good
	Implied   bool    // the page has no such rows: Published is what its claim would mean for them
	// Here is the ratio of times that was measured, Counts what each row allocates an
	// operation, which is exact. Both are nil where nothing was measured.
	Here    *verdict.Interval
	Counts  *[2]int64
	Verdict string
}

// Figure is what a claim is about.
type Figure string

const (
	Time   Figure = "time"
	Allocs Figure = "allocs" // heap objects an operation
	Bytes  Figure = "bytes"  // heap bytes an operation
)

// Print writes claims with what was measured of them.
func (all Claims) Print(w io.Writer, form Form) error {
	d := &doc{Form: form}
	switch {
	case form.JSON:
		return claimsJSON(w, &all)
	case form.Markdown:
		d.printf("| claim | published | here (95%% interval) | verdict | why |\n| --- | --- | --- | --- | --- |\n")
		for i := range all.List {
			c := &all.List[i]
			d.printf("| %s | %s | %s | **%s** | %s |\n", plain(fmt.Sprintf("%d. %s (%s)", c.Number, c.Text, c.Page)),
				plain(strings.Join(c.each((*ClaimMeasure).published), "; ")), plain(strings.Join(c.measured(), "; ")), c.Verdict, plain(c.Why))
		}
		d.printf("\n")
		d.note(all.Note)
		return d.writeTo(w)
	}
	page := ""
	say := func(format string, a ...any) { d.lines(lipgloss.Style{}, "", fmt.Sprintf(format, a...), "        ") }
	for _, c := range all.List {
		if c.Page != page {
			page = c.Page
			d.printf("%s\n", page)
		}
		say("  %2d. %s: %s", c.Number, c.Text, strings.ToUpper(c.Verdict))
		for i := range c.Measures {
			m := &c.Measures[i]
			say("      %s: published %s, here %s: %s", m.title(), m.published(), m.here(), m.Verdict)
		}
		if text := c.unavailable(); text != "" {
			say("      %s in this program", text)
		}
		say("      why: %s", c.Why)
	}
	d.printf("\n")
	d.lines(lipgloss.Style{}, "", all.Note, "")
	return d.writeTo(w)
}

// unavailable says why a claim has no measures, "" if it has some.
func (c *Claim) unavailable() string {
	if len(c.Measures) > 0 {
		return ""
	}
	return "stage " + c.Stage + " is not available"
}

// measured is what was measured of a claim, or why nothing was.
func (c *Claim) measured() []string {
	if text := c.unavailable(); text != "" {
		return []string{text}
	}
	return c.each((*ClaimMeasure).here)
}

func (c *Claim) each(text func(*ClaimMeasure) string) []string {
	var all []string
	for i := range c.Measures {
		all = append(all, c.Measures[i].title()+": "+text(&c.Measures[i]))
	}
	return all
}

// title says what is compared, and of times nothing more.
func (m *ClaimMeasure) title() string {
	switch m.Of {
	case Allocs:
		return m.What + ", allocations"
	case Bytes:
		return m.What + ", bytes allocated"
	}
	return m.What
}

func (m *ClaimMeasure) published() string {
	switch {
	case m.Implied:
		return "nothing, would be " + ratio(m.Published)
	case m.Published == 0:
		return "none"
	case m.AtMost:
		return "at most " + ratio(m.Published)
	}
	return ratio(m.Published)
}

func (m *ClaimMeasure) here() string {
	switch {
	case m.Counts != nil && (m.Counts[0] == 0 || m.Counts[1] == 0):
		return fmt.Sprintf("%s against %s", words.Integer(m.Counts[0]), words.Integer(m.Counts[1]))
	case m.Counts != nil:
		return fmt.Sprintf("%s (%s against %s)", ratio(float64(m.Counts[0])/float64(m.Counts[1])), words.Integer(m.Counts[0]), words.Integer(m.Counts[1]))
	case m.Here == nil:
		return "n/a"
	}
	return intervalText(*m.Here)
}

// The JSON form of claims, version 1: a stable interface.
type (
	jsonClaims struct {
		Version int         `json:"version"`
		Claims  []jsonClaim `json:"claims"`
	}
	jsonClaim struct {
		Number   int           `json:"number"`
		Page     string        `json:"page"`
		Stage    string        `json:"stage"`
		Claim    string        `json:"claim"`
		Verdict  string        `json:"verdict"`
		Why      string        `json:"why"`
		Measures []jsonMeasure `json:"measures"`
	}
	jsonMeasure struct {
		What      string     `json:"what"`
		Of        Figure     `json:"of"`
		Row       string     `json:"row"`
		Base      string     `json:"base"`
		Published float64    `json:"published_ratio"`
		AtMost    bool       `json:"at_most"`
		Implied   bool       `json:"implied"`
		Here      *jsonValue `json:"here_ratio"`
		Counts    *[2]int64  `json:"here_counts"`
		Verdict   string     `json:"verdict"`
	}
)

// claimsJSON writes claims in their JSON form.
func claimsJSON(w io.Writer, all *Claims) error {
	out := jsonClaims{Version: 1, Claims: []jsonClaim{}}
	for _, c := range all.List {
		j := jsonClaim{c.Number, c.Page, c.Stage, c.Text, c.Verdict, c.Why, []jsonMeasure{}}
		for _, r := range c.Measures {
			m := jsonMeasure{What: r.What, Of: r.Of, Row: r.Row, Base: r.Base, Published: r.Published, AtMost: r.AtMost, Implied: r.Implied, Here: newJSONValue(r.Here), Counts: r.Counts, Verdict: r.Verdict}
			if r.Counts != nil && r.Counts[1] != 0 {
				x := float64(r.Counts[0]) / float64(r.Counts[1])
				m.Here = &jsonValue{x, &x, &x}
			}
			j.Measures = append(j.Measures, m)
		}
		out.Claims = append(out.Claims, j)
	}
	return writeJSON(w, out)
}
