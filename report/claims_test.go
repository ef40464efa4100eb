package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"postage/claims"
	"postage/lab"
)

// findings is one of each verdict.
func findings() []claims.Finding {
	m := claims.Measure{What: "like with like", Row: "Encode/codec=a", Base: "Encode/codec=b", Published: 0.25}
	c := claims.Claim{Number: 1, Page: "a page", Stage: "encode", Text: "a is 4 times as fast as b", Why: "b is made to sort"}
	var all []claims.Finding
	for i, v := range []claims.Verdict{claims.Holds, claims.Differs, claims.WasArtefact, claims.Undecided, claims.NotMeasured, claims.NotAvailable} {
		f := claims.Finding{Claim: c, Verdict: v}
		f.Number = i + 1
		r := claims.Result{Measure: m, Verdict: v}
		if v != claims.NotMeasured {
			r.Here = &lab.Interval{Value: 0.24, Low: 0.23, High: 0.25}
		}
		if v != claims.NotAvailable {
			f.Results = []claims.Result{r}
		}
		all = append(all, f)
	}
	return all
}

func TestClaims(t *testing.T) {
	var text, markdown, out bytes.Buffer
	if err := ClaimsTerminal(&text, findings()); err != nil {
		t.Fatal(err)
	}
	golden(t, "claims.txt", text.Bytes())
	if err := ClaimsMarkdown(&markdown, findings()); err != nil {
		t.Fatal(err)
	}
	golden(t, "claims.md", markdown.Bytes())
	wellFormed(t, markdown.String())
	if err := ClaimsJSON(&out, findings()); err != nil {
		t.Fatal(err)
	}
	golden(t, "claims.json", out.Bytes())
	if !json.Valid(out.Bytes()) {
		t.Error("no JSON")
	}
}
