package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"postage/claims"
)

// ClaimsTerminal writes claims with what was measured of them, for a person.
func ClaimsTerminal(w io.Writer, findings []claims.Finding) error {
	var b strings.Builder
	page := ""
	for _, f := range findings {
		if f.Page != page {
			page = f.Page
			fmt.Fprintf(&b, "%s\n", page)
		}
		fmt.Fprintf(&b, "  %2d. %s: %s\n", f.Number, f.Text, strings.ToUpper(string(f.Verdict)))
		for _, r := range f.Results {
			fmt.Fprintf(&b, "      %s: published %s, here %s: %s\n", r.What, publishedText(&r.Measure), hereText(&r), r.Verdict)
		}
		if len(f.Results) == 0 {
			fmt.Fprintf(&b, "      stage %s is not available in this program\n", f.Stage)
		}
		fmt.Fprintf(&b, "      why: %s\n", f.Why)
	}
	fmt.Fprintf(&b, "\nRatios are of times, with 95%% intervals; a claim holds if they lie within a factor of %v of what was published.\n", claims.Tolerance)
	_, err := io.WriteString(w, b.String())
	return err
}

// ClaimsMarkdown writes claims as GitHub renders them.
func ClaimsMarkdown(w io.Writer, findings []claims.Finding) error {
	var b strings.Builder
	table := markdownTable{}
	for _, title := range []string{"claim", "published", "here (95% interval)", "verdict", "why"} {
		table.column(title, true)
	}
	for _, f := range findings {
		var published, here []string
		for _, r := range f.Results {
			published = append(published, r.What+": "+publishedText(&r.Measure))
			here = append(here, r.What+": "+hereText(&r))
		}
		if len(f.Results) == 0 {
			here = []string{"stage " + f.Stage + " is not available"}
		}
		table.row(plain(fmt.Sprintf("%d. %s (%s)", f.Number, f.Text, f.Page)), plain(strings.Join(published, "; ")), plain(strings.Join(here, "; ")),
			"**"+string(f.Verdict)+"**", plain(f.Why))
	}
	table.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func publishedText(m *claims.Measure) string {
	if m.AtMost {
		return "at most " + ratio(m.Published)
	}
	return ratio(m.Published)
}

func hereText(r *claims.Result) string {
	if r.Here == nil {
		return "n/a"
	}
	return intervalText(*r.Here)
}

// The JSON form of claims, version 1: a stable interface.
type (
	jsonClaims struct {
		Version int         `json:"version"`
		Claims  []jsonClaim `json:"claims"`
	}
	jsonClaim struct {
		Number   int            `json:"number"`
		Page     string         `json:"page"`
		Stage    string         `json:"stage"`
		Claim    string         `json:"claim"`
		Verdict  claims.Verdict `json:"verdict"`
		Why      string         `json:"why"`
		Measures []jsonMeasure  `json:"measures"`
	}
	jsonMeasure struct {
		What      string         `json:"what"`
		Row       string         `json:"row"`
		Base      string         `json:"base"`
		Published float64        `json:"published_ratio"`
		AtMost    bool           `json:"at_most"`
		Here      *jsonValue     `json:"here_ratio"`
		Verdict   claims.Verdict `json:"verdict"`
	}
)

// ClaimsJSON writes claims in their JSON form.
func ClaimsJSON(w io.Writer, findings []claims.Finding) error {
	out := jsonClaims{Version: 1, Claims: []jsonClaim{}}
	for _, f := range findings {
		c := jsonClaim{f.Number, f.Page, f.Stage, f.Text, f.Verdict, f.Why, []jsonMeasure{}}
		for _, r := range f.Results {
			m := jsonMeasure{What: r.What, Row: r.Row, Base: r.Base, Published: r.Published, AtMost: r.AtMost, Verdict: r.Verdict}
			if r.Here != nil {
				m.Here = &jsonValue{Value: r.Here.Value}
				if high := finite(r.Here.High); high != nil && r.Here.Low > 0 {
					m.Here.Low, m.Here.High = finite(r.Here.Low), high
				}
			}
			c.Measures = append(c.Measures, m)
		}
		out.Claims = append(out.Claims, c)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}
