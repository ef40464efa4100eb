package show

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/cost"
	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
)

// millions says what a million messages cost now, and what they could cost: for all stages, or for
// those with messages of the user's.
func millions(stages []cost.Stage, cases []*verdict.CaseResult, all bool) (sentences []string) {
	if !all {
		stages = slices.DeleteFunc(slices.Clone(stages), func(s cost.Stage) bool { return !s.PerMillion })
	}
	now := map[string]bool{}
	for _, c := range cases {
		if c.Baseline != nil {
			now[c.Baseline.Row.Contender] = true
		}
	}
	found := cost.Millions(stages, cases)
	for _, message := range slices.Sorted(maps.Keys(found)) {
		list := found[message]
		if i := slices.IndexFunc(list, func(m cost.Million) bool { return now[m.Contender] }); i >= 0 {
			sentences = append(sentences, strings.Join(millionText(message, list, list[i]), " "))
		}
	}
	return sentences
}

// millionText is what a message costs now, and what the cheapest way saves, in a sentence each.
func millionText(message string, list []cost.Million, was cost.Million) []string {
	text := []string{fmt.Sprintf("A million messages %s, encoded and decoded by %s, cost %.3g s of CPU time: at 1,000 a second %s a month, with a CPU hour at $%.2f.",
		message, was.Contender, was.CPUSeconds, money(was.USDMonth), cost.DefaultCPUHour)}
	best := list[0]
	if best.Contender == was.Contender {
		return append(text, "Nothing that was measured is cheaper.")
	}
	sent := ""
	switch less := was.Wire - best.Wire; {
	case less > 0:
		sent = fmt.Sprintf(" and sends %s less", report.Scaled(less, "bytes", "kB", "MB", "GB"))
	case less < 0:
		sent = fmt.Sprintf(", but sends %s more", report.Scaled(-less, "bytes", "kB", "MB", "GB"))
	}
	return append(text, fmt.Sprintf("%s in place of it saves %s a month%s.", best.Contender, money(was.USDMonth-best.USDMonth), sent))
}

func money(usd float64) string {
	if usd >= 9.95 {
		return "$" + words.Integer(int64(math.Round(usd)))
	}
	return fmt.Sprintf("$%.2g", usd)
}
