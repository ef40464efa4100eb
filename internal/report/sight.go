package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// busyText says what the machine was busy with while the record was measured, "" if it was not.
func busyText(rec *record.Record) string {
	if !rec.Busy() {
		return ""
	}
	var signs []string
	if m := &rec.Machine; m.Load != nil {
		signs = append(signs, fmt.Sprintf("load %.1f on %s", *m.Load, words.Counted(m.Cores, "core")))
	}
	if m := &rec.Machine; m.Stolen() {
		signs = append(signs, fmt.Sprintf("%.0f%% of processor time went to other guests", *m.StealPercent))
	}
	if waited, ok := rec.Waited(); ok {
		signs = append(signs, fmt.Sprintf("batches waited %.0f%% of their time for a processor", 100*waited))
	}
	return "This machine was busy: " + and(signs) + "; figures are rough."
}

// sight says what differences the record can show, and what it and its machine cannot.
func sight(a *verdict.Analysis, rec *record.Record) (lines []string) {
	var seen []*verdict.CaseResult // the sharpest first
	var unseen, cannot []string
	spoken := func(c *verdict.CaseResult) string { return strings.ReplaceAll(c.Name, "/", " ") }
	for _, c := range a.Cases {
		if half := c.Widest(); math.IsInf(half, 0) || c.Unmeasured() != "" {
			unseen = append(unseen, spoken(c))
		} else if half > 0 {
			seen = append(seen, c)
		}
	}
	slices.SortStableFunc(seen, func(a, b *verdict.CaseResult) int { return cmp.Compare(a.Widest(), b.Widest()) })
	from := func(c *verdict.CaseResult) string {
		least := 100 * math.Expm1(c.Widest()+verdict.Margin(rec.Run.Precision))
		if len(a.Cases) == 1 {
			return brief(rounded(least, 2)) + "%"
		}
		return fmt.Sprintf("%s%% (%s)", brief(rounded(least, 2)), spoken(c))
	}
	if n := len(seen); n > 1 {
		lines = append(lines, "Can see here: differences of "+from(seen[0])+" to "+from(seen[n-1])+" and more.")
	} else if n == 1 {
		lines = append(lines, "Can see here: differences of "+from(seen[0])+" and more.")
	}
	if len(unseen) > 0 {
		cannot = append(cannot, "differences in "+some(unseen)+" (too few blocks: give a larger --budget)")
	}
	if m := &rec.Machine; m.Counters != "" && m.Counters != "available" {
		cannot = append(cannot, "instructions (no hardware counters)")
	}
	if v := rec.Machine.Virtualised; v != "" && v != "none" {
		cannot = append(cannot, "times in ns that hold another day (a virtual machine)")
	}
	if len(cannot) > 0 {
		lines = append(lines, "Cannot see here: "+strings.Join(cannot, "; ")+".")
	}
	return lines
}

// some lists names, of many the first two.
func some(names []string) string {
	if more := len(names) - 2; more > 1 {
		names = append(names[:2:2], fmt.Sprintf("%d more", more))
	}
	return and(names)
}
