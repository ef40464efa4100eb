package claims

import (
	"bytes"
	"encoding/json"
	"testing"

	"postage/internal/kit/report"
	"postage/internal/test/reporttest"
	"postage/internal/verdict"
)

// checked is one claim of each verdict, and of each figure.
func checked() Claims {
	var all []Claim
	for i, v := range []string{"holds", "differs", "was an artefact", "undecided", "not measured", "not available"} {
		c := Claim{Number: i + 1, Page: "a page", Stage: "encode", Text: "a is 4 times as fast as b", Why: "b is made to sort", Verdict: v}
		m := Measure{What: "like with like", Of: Time, Row: "Encode/codec=a", Base: "Encode/codec=b", Published: 0.25, Verdict: v}
		if v != "not measured" {
			m.Here = &verdict.Interval{Value: 0.24, Low: 0.23, High: 0.25}
		}
		if v != "not available" {
			c.Measures = append(c.Measures, m)
		}
		all = append(all, c)
	}
	counted := func(figure Figure, published float64, row, base int64, outcome string) Measure {
		m := Measure{What: "like with like", Of: figure, Row: "Encode/codec=a", Base: "Encode/codec=b", Published: published, Counts: &[2]int64{row, base}, Verdict: outcome}
		if base != 0 {
			m.Here = new(verdict.Exactly(float64(row) / float64(base)))
		}
		return m
	}
	all[0].Measures = append(all[0].Measures, counted(Allocs, 0, 0, 13, "holds"), counted(Bytes, 0.2, 19_000_000, 107_000_000, "holds"))
	all[1].Measures = append(all[1].Measures, counted(Allocs, 0.5, 3, 0, "differs"))
	rightly := all[2].Measures[0]
	rightly.What, rightly.Implied, rightly.Published = "without its mistake", true, 1
	all[2].Measures[0].Verdict = "holds"
	all[2].Measures = append(all[2].Measures, rightly)
	return Claims{all, "Published and measured figures are ratios. Ratios of times have 95% intervals. A claim holds if they lie within a factor of 1.25 of what was published, or below what it allows at most (times: give or take 2%); allocations are counted, and none published means none allowed."}
}

func TestClaims(t *testing.T) {
	var text, markdown, out bytes.Buffer
	if err := checked().Print(&text, report.Form{}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "claims.txt", text.Bytes())
	if err := checked().Print(&markdown, report.Form{Markdown: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "claims.md", markdown.Bytes())
	reporttest.WellFormed(t, markdown.String())
	if err := checked().Print(&out, report.Form{JSON: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "claims.json", out.Bytes())
	if !json.Valid(out.Bytes()) {
		t.Error("no JSON")
	}
}
