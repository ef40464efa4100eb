package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
	"postage/record"
)

// busyText says how busy the machine was while the record was measured, "" if it was not.
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
	return "This machine was busy: " + strings.Join(signs, ", ") + "; figures are rough, and wall times are of this company alone."
}

// sight says which differences the record could show, in the case with the narrowest intervals and
// in the one with the widest; "" if no case has intervals.
func sight(a *verdict.Analysis, rec *record.Record) string {
	var seen []*verdict.CaseResult
	for _, c := range a.Cases {
		if half := c.Widest(); half > 0 && !math.IsInf(half, 0) && c.Unmeasured() == "" {
			seen = append(seen, c)
		}
	}
	if len(seen) == 0 {
		return ""
	}
	slices.SortStableFunc(seen, func(a, b *verdict.CaseResult) int { return cmp.Compare(a.Widest(), b.Widest()) })
	best, worst := seen[0], seen[len(seen)-1]
	least := func(c *verdict.CaseResult) string {
		text := report.Brief(report.Rounded(100*math.Expm1(c.Widest()+verdict.Margin(rec.Run.Precision)), 2)) + "%"
		if best.Stage() != worst.Stage() {
			text += " (" + c.Stage() + ")"
		}
		return text
	}
	text := "Smallest difference this run could show: " + least(best)
	if best != worst {
		text += " to " + least(worst)
	}
	return text + "."
}
