package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/record"
	"postage/stats"
	"postage/verdict"
)

// An answer says who won, in words that stand alone: of a message, what encodes, decodes
// and validates it; else of one case.
type answerView struct {
	Lead    string // "For your"
	Subject string // "order": the message, or the case's name
	Link    string // id of the case that the subject is, "" for a message
	Rest    string // " message:"
	Clauses []clauseView
}

// clauseView is a part of the answer: "polyglot encodes", and by how much.
type clauseView struct{ ID, Who, Text string }

// does is what a contender does to a message in a case of this op, and the infinitive of it.
var does = map[string][2]string{
	"encode":       {"encodes", "encode"},
	"decode":       {"decodes", "decode"},
	"decode-reuse": {"decodes into a used message", "decode into a used message"},
	"validate":     {"decodes and validates", "decode and validate"},
}

func answers(cases []*caseOfRun) []answerView {
	var all []answerView
	messages := map[string]int{}
	for _, c := range cases {
		if c.Baseline == nil || c.Baseline.NSOp == nil {
			continue
		}
		k := record.KeysOf(c.Name)
		verb := does[k.Get("op")]
		if verb[0] == "" || k.Get("msg") == "" {
			who, text := c.clause([2]string{"is", "be"})
			all = append(all, answerView{Subject: strings.ReplaceAll(c.Name, "/", " "), Link: c.id, Rest: ":", Clauses: []clauseView{{c.id, who, text}}})
			continue
		}
		key := c.run + " " + k.Without("op").Join(" ")
		at, ok := messages[key]
		if !ok {
			at = len(all)
			messages[key] = at
			all = append(all, answerView{Lead: "For your", Subject: k.Get("msg"), Rest: " message:"})
		}
		who, text := c.clause(verb)
		all[at].Clauses = append(all[at].Clauses, clauseView{c.id, who, text})
	}
	for i := range all {
		for j := range all[i].Clauses {
			end := ";"
			if j == len(all[i].Clauses)-1 {
				end = "."
			}
			all[i].Clauses[j].Text += end
		}
	}
	return all
}

// clause says who is the fastest in a case, and how much faster than the baseline and,
// where it is measured beside it, than encoding/json.
func (c *caseOfRun) clause(verb [2]string) (who, text string) {
	base := short(c.Baseline.Row.Contender)
	rivals := c.rivals()
	if len(rivals) == 0 {
		return base, fmt.Sprintf("has no rival: it takes %s", duration(c.Baseline.NSOp.Value))
	}
	best := rivals[0]
	switch {
	case math.IsInf(best.Ratio.HalfWidth, 0):
		return base, "takes " + duration(c.Baseline.NSOp.Value) + "; there are too few blocks for a verdict"
	case best.Verdict == stats.Slower:
		return base, fmt.Sprintf("is the fastest, %s; next is %s, which takes %s as long", duration(c.Baseline.NSOp.Value), short(best.Row.Contender), times(best.Ratio.Ratio))
	case best.Verdict != stats.Faster:
		return base, fmt.Sprintf("takes %s, and nothing was found to %s faster", duration(c.Baseline.NSOp.Value), verb[1])
	}
	text = fmt.Sprintf("%s faster than %s (%s to %s)", times(1/best.Ratio.Ratio), base, multiple(1/best.Ratio.High), times(1/best.Ratio.Low))
	for _, r := range rivals[1:] {
		if r.Row.Contender != "codec=json" {
			continue
		}
		if x, ok := verdict.RatioOf(c.rec, r.Row.Name, best.Row.Name); ok {
			text += fmt.Sprintf(" and %s faster than encoding/json", times(x.Value))
		}
	}
	text += ": " + duration(best.NSOp.Value)
	if best.FloorRatio != nil {
		text += fmt.Sprintf(", %s the floor", times(*best.FloorRatio))
	}
	return short(best.Row.Contender) + " " + verb[0], text
}

// rivals are the contenders with figures: those that were found faster than the baseline
// first, those found slower last, each the fastest first.
func (c *caseOfRun) rivals() []*verdict.Result {
	var rivals []*verdict.Result
	for _, r := range c.ways() {
		if r.Ratio != nil && r.Row.Role == record.RoleContender {
			rivals = append(rivals, r)
		}
	}
	rank := map[stats.Verdict]int{stats.Faster: -1, stats.Slower: 1}
	slices.SortStableFunc(rivals, func(a, b *verdict.Result) int {
		return cmp.Or(cmp.Compare(rank[a.Verdict], rank[b.Verdict]), cmp.Compare(a.Ratio.Ratio, b.Ratio.Ratio))
	})
	return rivals
}
