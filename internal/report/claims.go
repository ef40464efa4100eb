package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

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
	Number   int             `json:"number"`
	Page     string          `json:"page"`  // where it was published
	Stage    string          `json:"stage"` // that it is about: "encode"
	Text     string          `json:"claim"`
	Verdict  string          `json:"verdict"`  // "holds"
	Why      string          `json:"why"`      // what was wrong with the page, or explains a difference
	Measures []ClaimMeasure  `json:"measures"` // none where no stage measures them
	Like     verdict.Verdict // a page shows Verdict in the colour of this; "" for none
}

// ClaimMeasure is a figure of a row as a multiple of the same figure of another.
type ClaimMeasure struct {
	What      string  `json:"what"`
	Of        Figure  `json:"of"`
	Row       string  `json:"row"`
	Base      string  `json:"base"`
	Published float64 `json:"published_ratio"`
	AtMost    bool    `json:"at_most"` // anything below Published is as good
	// Implied says that the page has no such rows: Published is what its claim would mean for them.
	Implied bool `json:"implied"`
	// Here is the ratio that was measured, Counts what each row allocates an operation, which is
	// exact. Both are nil where nothing was measured, and Here where the base allocates nothing.
	Here    *verdict.Interval `json:"here_ratio"`
	Counts  *[2]int64         `json:"here_counts"`
	Verdict string            `json:"verdict"`
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
		return writeJSON(w, jsonClaims{1, all.List})
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

var (
	//go:embed page/claims.gohtml
	claimsText string
	//go:embed page/claims.css
	claimsCSS string
)

// Section is the claims as a part of a page, once something was measured of one.
func (all Claims) Section() ([]Section, error) {
	if !slices.ContainsFunc(all.List, Claim.wasMeasured) {
		return nil, nil
	}
	body, err := Fragment(claimsText, template.FuncMap{
		"published": func(c Claim) []string { return c.each((*ClaimMeasure).published) },
		"here":      func(c Claim) []string { return c.measured() },
	}, all)
	return []Section{{"claims", "Published claims", template.CSS(claimsCSS), body}}, err
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

// wasMeasured reports whether anything was.
func (c Claim) wasMeasured() bool {
	return slices.ContainsFunc(c.Measures, func(m ClaimMeasure) bool { return m.Here != nil || m.Counts != nil })
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
	return RatioText(*m.Here)
}

// jsonClaims is the JSON of claims, version 1.
type jsonClaims struct {
	Version int     `json:"version"`
	Claims  []Claim `json:"claims"`
}
