package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/words"
	"postage/record"
	"postage/stats"
	"postage/verdict"
)

// An answer says in a sentence which contender won: for a message, at each operation; else for one
// case.
type answerView struct {
	Lead    string // "For your"
	Subject string // "order": the message, or the case's name
	Link    string // id of the case that the subject is, "" for a message
	Rest    string // " message:"
	Clauses []clauseView
}

// clauseView is a part of the answer: "polyglot encodes", and by how much.
type clauseView struct{ ID, Who, Text string }

// sentences are the answers of a record as text, one a line.
func sentences(a *verdict.Analysis, rec *record.Record, stages []verdict.Stage) []string {
	var cases []*caseOfRun
	for i := range a.Cases {
		cases = append(cases, newCaseOfRun(&a.Cases[i], rec, stages))
	}
	var lines []string
	for _, answer := range answers(cases) {
		line := strings.TrimSpace(answer.Lead+" "+answer.Subject) + answer.Rest
		for _, clause := range answer.Clauses {
			line += " " + clause.Who + " " + clause.Text
		}
		lines = append(lines, line)
	}
	return lines
}

func answers(cases []*caseOfRun) []answerView {
	var all []answerView
	messages := map[string]int{}
	for _, c := range cases {
		if c.Baseline == nil || c.Baseline.NSOp == nil {
			continue
		}
		k := record.KeysOf(c.Name)
		if picks := c.Picks(); picks != nil {
			all = append(all, answerView{Lead: "For your", Subject: k.Get(c.says.Message), Rest: " message in " + record.Short(k.Without(c.says.Message, c.says.Does).Join("/")) + ":", Clauses: []clauseView{c.packed(picks)}})
			continue
		}
		does, known := c.says.Verbs[k.Get(c.says.Does)]
		message := k.Get(c.says.Message)
		if !known || message == "" {
			who, text := c.clause("is")
			all = append(all, answerView{Subject: strings.ReplaceAll(c.Name, "/", " "), Link: c.id, Rest: ":", Clauses: []clauseView{{c.id, who, text}}})
			continue
		}
		key := c.run + " " + k.Without(c.says.Does).Join(" ")
		at, ok := messages[key]
		if !ok {
			at = len(all)
			messages[key] = at
			all = append(all, answerView{Lead: "For your", Subject: message, Rest: " message:"})
		}
		who, text := c.clause(does)
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
// where they are measured beside it, than those that every reader knows.
func (c *caseOfRun) clause(does string) (who, text string) {
	base := record.Short(c.Baseline.Row.Contender)
	rivals := c.rivals()
	if len(rivals) == 0 {
		return base, fmt.Sprintf("has no rival: it takes %s", duration(c.Baseline.NSOp.Value))
	}
	best := rivals[0]
	switch {
	case math.IsInf(best.Ratio.HalfWidth, 0):
		return base, "takes " + duration(c.Baseline.NSOp.Value) + "; there are too few blocks for a verdict"
	case best.Verdict == stats.Slower:
		return base, fmt.Sprintf("is the fastest, %s; next is %s, which takes %s as long", duration(c.Baseline.NSOp.Value), record.Short(best.Row.Contender), times(best.Ratio.Ratio))
	case best.Verdict != stats.Faster:
		return base, fmt.Sprintf("takes %s, and no faster contender was found", duration(c.Baseline.NSOp.Value))
	}
	text = fmt.Sprintf("%s faster than %s (%s to %s)", times(1/best.Ratio.Ratio), base, multiple(1/best.Ratio.High), times(1/best.Ratio.Low))
	for _, r := range rivals[1:] {
		if name := c.says.Known[r.Row.Contender]; name != "" {
			if x, ok := verdict.RatioOf(c.rec, r.Row.Name, best.Row.Name); ok {
				text += fmt.Sprintf(" and %s faster than %s", times(x.Value), name)
			}
		}
	}
	text += ": " + duration(best.NSOp.Value)
	if best.FloorRatio != nil {
		text += fmt.Sprintf(", %s the floor", times(*best.FloorRatio))
	}
	return record.Short(best.Row.Contender) + " " + does, text
}

// packed says which way of packing is best at which bandwidth.
func (c *caseOfRun) packed(picks []verdict.Pick) clauseView {
	first := record.Short(picks[0].Row.Contender)
	if slices.ContainsFunc(picks, func(p verdict.Pick) bool { return p.Ratio != nil && math.IsInf(p.Ratio.HalfWidth, 0) }) {
		return clauseView{c.id, "there", "are too few blocks to say what pays"}
	}
	if len(picks) == 1 {
		return clauseView{c.id, first, "is best at every bandwidth"}
	}
	text := "is best above " + bandwidth(picks[1].Below)
	for i, p := range picks[1:] {
		below := "that"
		if i > 0 {
			below = bandwidth(p.Below)
		}
		text += fmt.Sprintf(", %s below %s (%s bytes)", record.Short(p.Row.Contender), below, words.Integer(int64(math.Round(p.Metrics[record.PackedBytes]))))
	}
	return clauseView{c.id, first, text}
}

func bandwidth(mbit float64) string { return scaled(1e3*mbit, "kbit/s", "Mbit/s", "Gbit/s") }

// rivals are the contenders with figures: those that were found faster than the baseline
// first, those found slower last, each the fastest first.
func (c *caseOfRun) rivals() []*verdict.Result {
	var rivals []*verdict.Result
	for _, r := range c.Ways() {
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
