package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// ChangesTerminal writes a comparison of two records as a table for a person, what
// matters most first.
func ChangesTerminal(w io.Writer, c *verdict.Changes, color bool) error {
	t := &terminal{color: color}
	t.printf("%s\n", t.paint(bold, headline(c)))
	t.recipe(c)
	t.printf("\n")
	if rows := changed(c, nil); len(rows) > 0 {
		printTable(t, "", changeColumns(c), rows, func(_ *verdict.Change, text string) string {
			switch text {
			case string(verdict.Regressed):
				return t.paint(red, text)
			case string(verdict.Passed):
				return t.paint(green, text)
			case string(verdict.Inconclusive):
				return t.paint(yellow, text)
			}
			return text
		})
		t.printf("\n")
	}
	for _, u := range c.Unmatched {
		t.printf("%s  %s%s\n", u.Row, u.Reason, across(c, ", "))
	}
	for _, warning := range c.Warnings {
		t.printf("%s %s\n", t.paint(yellow, "warning:"), warning)
	}
	t.printf("%s\n", t.paint(dim, method(c)))
	_, err := io.WriteString(w, t.b.String())
	return err
}

// recipe prints what to do about an inconclusive comparison.
func (t *terminal) recipe(c *verdict.Changes) {
	if recipe := c.Recipe(); recipe != "" {
		t.printf("%s: %s\n", t.paint(yellow, string(verdict.Inconclusive)), recipe)
	}
}

// markdownOutcome is a heading with the outcome, and what to do about one that is inconclusive.
func markdownOutcome(b *strings.Builder, of string, c *verdict.Changes) {
	fmt.Fprintf(b, "### %s: %s\n\n", of, c.Outcome())
	if recipe := c.Recipe(); recipe != "" {
		fmt.Fprintf(b, "%s\n\n", plain(recipe))
	}
}

// ChangesMarkdown writes a comparison as GitHub renders it.
func ChangesMarkdown(w io.Writer, c *verdict.Changes) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", plain(headline(c)))
	markdownRows(&b, changeColumns(c), changed(c, nil))
	changesNotes(&b, c)
	_, err := io.WriteString(w, b.String())
	return err
}

// changed are the rows for which wanted holds, all if it is nil.
func changed(c *verdict.Changes, wanted func(*verdict.Change) bool) []*verdict.Change {
	var rows []*verdict.Change
	for i := range c.Rows {
		if wanted == nil || wanted(&c.Rows[i]) {
			rows = append(rows, &c.Rows[i])
		}
	}
	return rows
}

func changesNotes(b *strings.Builder, c *verdict.Changes) {
	for _, u := range c.Unmatched {
		fmt.Fprintf(b, "- %s: %s%s\n", code(u.Row), plain(u.Reason), across(c, ", "))
	}
	if len(c.Unmatched) > 0 {
		b.WriteByte('\n')
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(b, "> **warning:** %s\n>\n", plain(warning))
	}
	fmt.Fprintf(b, "> %s\n", plain(method(c)))
}

// headline is the comparison in a sentence: how many rows came to what, and under which thresholds
// they passed.
func headline(c *verdict.Changes) string {
	number, named := map[string]int{}, []string{"regressed", "inconclusive", "passed"}
	if !c.Paired {
		named = []string{"slower", "faster", "same", "undecided", "with larger counts"}
	}
	least, most := math.Inf(1), 0.0
	for i := range c.Rows {
		r := &c.Rows[i]
		switch {
		case c.Paired:
			number[string(r.Outcome)]++
		case r.Outcome == verdict.Regressed:
			number["with larger counts"]++
			fallthrough
		default:
			number[string(r.Verdict)]++
		}
		if r.Time == verdict.Passed {
			least, most = min(least, r.Threshold), max(most, r.Threshold)
		}
	}
	parts := []string{}
	for _, word := range named {
		if n := number[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to compare"}
	}
	under := ""
	if most > 0 {
		under = fmt.Sprintf(" (a slowdown is under %.1f%%", 100*least)
		if most-least > 0.0005 {
			under += fmt.Sprintf(" to %.1f%%, by row", 100*most)
		}
		under += ")"
	}
	return fmt.Sprintf("%s: %s%s%s", words.Counted(len(c.Rows), "row"), strings.Join(parts, ", "), under, across(c, ", "))
}

// across is what each line of a comparison of two machines says.
func across(c *verdict.Changes, separator string) string {
	if !c.AcrossMachines {
		return ""
	}
	return separator + "across machines"
}

func method(c *verdict.Changes) string {
	counts := fmt.Sprintf("allocs %s, bytes %s, size %s", percent(c.Limits.Allocs), percent(c.Limits.Bytes), percent(c.Limits.Size))
	if slices.ContainsFunc(c.Rows, func(r verdict.Change) bool { return r.New.InstructionsOp != nil }) {
		counts += ", instructions " + percent(c.Limits.Instructions)
	}
	if !c.Paired {
		return "advice: new/old of the time as a multiple of the anchor's in each run; the difference between two runs may not come from the code. " +
			"A verdict needs the whole interval (95%, Mann-Whitney) beyond 5%; in 6 of 105 pairs of real runs of the same code a row had one, " +
			"by the estimate 14 had (docs/method.md). run --against gates; thresholds: " + counts
	}
	how, or := "Student's interval of 95%, its variance shrunk over the rows", ""
	if slices.ContainsFunc(c.Rows, func(r verdict.Change) bool { return r.Spread != nil }) {
		how += ", over function layouts"
	}
	if c.Limits.OrSeen {
		or = " or what could be seen, at most 10%"
	}
	return fmt.Sprintf("new/old of the time, batch by batch in the same rounds (%s, Holm over all rows); thresholds: time %s%s, %s", how, percent(c.Limits.Time), or, counts)
}

func percent(fraction float64) string { return fmt.Sprintf("%.4g%%", 100*fraction) }

func changeColumns(c *verdict.Changes) []column[*verdict.Change] {
	columns := []column[*verdict.Change]{
		{"row", true, func(r *verdict.Change) string { return r.New.Row.Name }},
		{"new/old (95% interval)", false, func(r *verdict.Change) string { return intervalText(r.Ratio) }},
		{"verdict", true, func(r *verdict.Change) string { return string(r.Verdict) }},
		{"old ns/op", false, func(r *verdict.Change) string { return grouped(r.Old.NSOp.Value) }},
		{"new ns/op", false, func(r *verdict.Change) string { return grouped(r.New.NSOp.Value) }},
	}
	if c.Paired {
		columns = append(slices.Insert(columns, 1, column[*verdict.Change]{"outcome", true, func(r *verdict.Change) string { return string(r.Outcome) }}),
			column[*verdict.Change]{"p (Holm)", false, func(r *verdict.Change) string { return probability(r.P) }},
			column[*verdict.Change]{"could be seen", false, func(r *verdict.Change) string { return seen(r.Seen) }})
	} else {
		columns = append(columns, column[*verdict.Change]{"anchor", true, func(r *verdict.Change) string { return cmp.Or(r.Anchor, "none") }})
	}
	if slices.ContainsFunc(c.Rows, func(r verdict.Change) bool { return layoutMatters(&r) }) {
		columns = append(columns, column[*verdict.Change]{"layouts", false, func(r *verdict.Change) string {
			if r.Spread == nil {
				return ""
			}
			return fmt.Sprintf("±%.1f%%", 100**r.Spread)
		}})
	}
	columns = append(columns, column[*verdict.Change]{"counts", true, countsText})
	if c.AcrossMachines {
		columns = append(columns, column[*verdict.Change]{"", true, func(*verdict.Change) string { return "across machines" }})
	}
	return columns
}

// layoutMatters reports whether the row's ratio differs visibly between function layouts.
func layoutMatters(r *verdict.Change) bool { return r.Spread != nil && *r.Spread >= 0.005 }

func intervalText(i verdict.Interval) string {
	if math.IsInf(i.High, 1) || i.Low == 0 {
		return ratio(i.Value) + " (no interval)"
	}
	return fmt.Sprintf("%s (%s to %s)", ratio(i.Value), ratio(i.Low), ratio(i.High))
}

func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// seen is the smallest slowdown that would have been found.
func seen(ratio float64) string {
	if math.IsInf(ratio, 1) {
		return "none"
	}
	return fmt.Sprintf("+%.1f%%", 100*(ratio-1))
}

// countsText tells the counts that changed.
func countsText(r *verdict.Change) string {
	var changed []string
	for _, count := range r.Counts {
		if differs(count) {
			changed = append(changed, countText(&count))
		}
	}
	if len(changed) == 0 {
		return "same"
	}
	return strings.Join(changed, ", ")
}

// differs reports whether a count changed. Instructions are never quite the same.
func differs(c verdict.Count) bool {
	return c.Old != c.New && !(c.Unit == record.Instructions && math.Abs(c.New/c.Old-1) < 0.001)
}

func countText(c *verdict.Count) string {
	return fmt.Sprintf("%s %s to %s", c.Unit, figure(c.Old), figure(c.New))
}

// figure prints a count, which may be a mean.
func figure(x float64) string {
	if x == math.Trunc(x) {
		return words.Integer(int64(x))
	}
	return grouped(x)
}

// explain says in a sentence why a row has its outcome.
func explain(c *verdict.Changes, r *verdict.Change) string {
	var why []string
	switch r.Time {
	case verdict.Regressed:
		why = append(why, fmt.Sprintf("takes %s of its old time; the threshold is %s", intervalText(r.Ratio), percent(c.Limits.Time)))
	case verdict.Inconclusive:
		why = append(why, fmt.Sprintf("takes %s of its old time, which does not settle whether it is under the threshold of %s; the smallest slowdown that could have been seen: %s",
			intervalText(r.Ratio), percent(r.Threshold), seen(r.Seen)))
	case verdict.NotGated:
		why = append(why, "its time is not gated: old and new did not take turns")
	case verdict.Passed:
		if r.Outcome == verdict.Passed {
			why = append(why, fmt.Sprintf("takes %s of its old time, under the threshold of %s", intervalText(r.Ratio), percent(r.Threshold)))
		}
	}
	if layoutMatters(r) {
		why = append(why, fmt.Sprintf("between function layouts it moves by %.1f%% (one standard deviation), which the interval includes", 100**r.Spread))
	}
	for i := range r.Counts {
		if r.Counts[i].Outcome == verdict.Regressed {
			why = append(why, countText(&r.Counts[i]))
		}
	}
	return strings.Join(why, "; ") + across(c, "; ")
}
