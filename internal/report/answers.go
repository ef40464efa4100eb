package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// An answer says in a sentence which contender won: for a message, at each operation; else for one
// case.
type answerView struct {
	Lead    string // "For your", "For"
	Subject string // "order": the message, or the case's name
	Link    string // id of the case that the subject is, "" for a message
	Rest    string // " message,"
	Clauses []clauseView
}

// clauseView is a part of the answer: "encode with", "polyglot", and why.
type clauseView struct{ ID, Do, Who, Text string }

// sentences are the answers of a record as text, one a line.
func sentences(cases []*caseOfRun) (lines []string) {
	for _, answer := range answers(cases) {
		line := strings.TrimSpace(answer.Lead+" "+answer.Subject) + answer.Rest
		for _, clause := range answer.Clauses {
			line += strings.TrimRight(" "+clause.Do, " ") + " " + clause.Who + clause.Text
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
		if picks := picksOf(c.CaseResult); picks != nil {
			all = append(all, answerView{Lead: "For your", Subject: k.Get(c.says.Message), Rest: " message in " + record.Short(k.Without(c.says.Message, c.says.Does).Join("/")) + ":", Clauses: []clauseView{c.packed(picks)}})
			continue
		}
		does, known := c.says.Verbs[k.Get(c.says.Does)]
		message := k.Get(c.says.Message)
		if !known || message == "" {
			all = append(all, answerView{Lead: "For", Subject: strings.ReplaceAll(c.Name, "/", " "), Link: c.id, Rest: ",", Clauses: []clauseView{c.clause("")}})
			continue
		}
		key := c.run + " " + k.Without(c.says.Does).Join(" ")
		at, ok := messages[key]
		if !ok {
			at = len(all)
			messages[key] = at
			all = append(all, answerView{Lead: "For your", Subject: message, Rest: " message,"})
		}
		all[at].Clauses = append(all[at].Clauses, c.clause(does))
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

// terms are the words for a row's quantity: a cost is less or more, a time shorter or longer.
type terms struct{ takes, better, best, as string }

func termsOf(row *record.Row) terms {
	if row.Value == record.ValueCost {
		return terms{"costs", "cheaper", "the cheapest", "costs %s as much"}
	}
	return terms{"takes", "faster", "the fastest", "takes %s as long"}
}

// clause says what to take in a case, to do something or for what the case is, and why: how much
// cheaper or faster it is than the baseline and, where they are measured beside it, than those that
// every reader knows; and what may be better still. What departs from a standard is said to.
func (c *caseOfRun) clause(does string) clauseView {
	advice := clauseView{ID: c.id, Do: "use", Who: record.Short(c.Baseline.Row.Contender)}
	if does != "" {
		advice.Do = does + " with"
	}
	takes := supported(*c.Baseline.NSOp, durationIn)
	in := termsOf(c.Baseline.Row)
	rivals := c.rivals()
	if len(rivals) == 0 {
		advice.Text = ": it has no rival, and " + in.takes + " " + takes
		return advice
	}
	best := rivals[0]
	switch {
	case !best.Ratio.Bounded():
		advice.Do, advice.Text = "", strings.TrimSuffix(" "+in.takes+" "+takes+" to "+does, " to ")+"; there are too few blocks for a verdict"
		return advice
	case best.Verdict == verdict.Slower:
		advice.Text = fmt.Sprintf(": it is %s, at %s; next is %s, which "+in.as, in.best, takes, record.Short(best.Row.Contender), supported(best.Ratio.Interval, timesIn))
		return advice
	case best.Verdict != verdict.Faster:
		advice.Text = fmt.Sprintf(": it %s %s, and no %s contender was found%s", in.takes, takes, in.better, c.notSure(c.Baseline))
		return advice
	}
	ratio := inverse(best.Ratio)
	advice.Text = fmt.Sprintf(": it is %s %s than %s (%s to %s)", supported(ratio, timesIn), in.better, advice.Who, multiple(ratio.Low), times(ratio.High))
	advice.Who = record.Short(best.Row.Contender)
	for _, r := range rivals[1:] {
		if name := c.says.Known[r.Row.Contender]; name != "" {
			if x, ok := c.RatioOf(r, best); ok && x.Low > 1 {
				advice.Text += fmt.Sprintf(" and %s %s than %s", supported(x, timesIn), in.better, name)
			}
		}
	}
	advice.Text += ", at " + supported(*best.NSOp, durationIn)
	if best.FloorRatio != nil {
		advice.Text += fmt.Sprintf(", %s the floor", supported(*best.FloorRatio, timesIn))
	}
	if from := best.Row.Properties[record.Departs]; from != "" {
		advice.Text += ", but departs from " + from
		keeps := func(r *verdict.Result) bool { return r.Row.Properties[record.Departs] == "" }
		if i := slices.IndexFunc(rivals, keeps); i >= 0 && rivals[i].Verdict == verdict.Faster {
			advice.Text += fmt.Sprintf(": %s does not, and is %s %s", record.Short(rivals[i].Row.Contender), supported(inverse(rivals[i].Ratio), timesIn), in.better)
		}
	}
	advice.Text += c.notSure(best)
	return advice
}

// inverse is how many times as fast or cheap a row is that has this ratio.
func inverse(c *verdict.Comparison) verdict.Interval {
	return verdict.Interval{Value: 1 / c.Value, Low: 1 / c.High, High: 1 / c.Low}
}

// notSure names the rivals that may be faster than what is advised, by more than counts as the
// same; "" if there are none.
func (c *caseOfRun) notSure(advised *verdict.Result) string {
	var names []string
	for _, r := range c.rivals() {
		if x, ok := c.RatioOf(r, advised); r != advised && ok && math.Log(x.Low) < -2*verdict.Margin(c.Record.Run.Precision) {
			names = append(names, record.Short(r.Row.Contender))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", but that is not sure: " + some(names) + " may be " + termsOf(advised.Row).better
}

// supported prints a figure with as many digits as its interval supports, up to three: with one, as
// "about", from ±10% on, with two from ±1% on, and with more where it would leave the interval.
func supported(figure verdict.Interval, print func(x float64, digits int) string) string {
	about, digits := "", 3
	if half := math.Log(figure.High/figure.Low) / 2; !figure.Bounded() || half >= 0.1 {
		about, digits = "about ", 1
	} else if half >= 0.01 {
		digits = 2
	}
	for x := rounded(figure.Value, digits); digits < 3 && (x < figure.Low || x > figure.High); x = rounded(figure.Value, digits) {
		digits++
	}
	return about + print(figure.Value, digits)
}

// rounded is a number with so many significant digits.
func rounded(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64) // it was a number
	return x
}

// timesIn is times with so many digits.
func timesIn(x float64, digits int) string {
	switch x = rounded(x, digits); {
	case digits == 1 && x < 99.5 || x < 1:
		return brief(x) + "×"
	case digits == 2 && x < 1.995:
		return fmt.Sprintf("%.1f×", x)
	}
	return times(x)
}

func durationIn(ns float64, digits int) string { return duration(rounded(ns, digits)) }

// packed says which way of packing is best at which bandwidth.
func (c *caseOfRun) packed(picks []pick) clauseView {
	first := record.Short(picks[0].Row.Contender)
	if slices.ContainsFunc(picks, func(p pick) bool { return p.Ratio != nil && !p.Ratio.Bounded() }) {
		return clauseView{ID: c.id, Who: "there", Text: " are too few blocks to say what pays"}
	}
	if len(picks) == 1 {
		return clauseView{ID: c.id, Who: first, Text: " is best at every bandwidth"}
	}
	text := " is best above " + bandwidth(picks[1].Below)
	for i, p := range picks[1:] {
		below := "that"
		if i > 0 {
			below = bandwidth(p.Below)
		}
		text += fmt.Sprintf(", %s below %s (%s bytes)", record.Short(p.Row.Contender), below, words.Integer(int64(math.Round(p.Metrics[record.PackedBytes]))))
	}
	return clauseView{ID: c.id, Who: first, Text: text}
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
	rank := map[verdict.Verdict]int{verdict.Faster: -1, verdict.Slower: 1}
	slices.SortStableFunc(rivals, func(a, b *verdict.Result) int {
		return cmp.Or(cmp.Compare(rank[a.Verdict], rank[b.Verdict]), cmp.Compare(a.Ratio.Value, b.Ratio.Value))
	})
	return rivals
}
