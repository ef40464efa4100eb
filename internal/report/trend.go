package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"postage/internal/history/trend"
	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/internal/words"
)

// TrendTerminal writes how a row changed from run to run as tables for a person: each
// trend's line, its changes, and its last points, all for last < 1. With color it uses ANSI
// escape sequences.
func TrendTerminal(w io.Writer, trends []*trend.Trend, last int, color bool) error {
	t := &terminal{color: color}
	for _, tr := range trends {
		if len(tr.Points) == 0 {
			continue
		}
		if t.b.Len() > 0 {
			t.printf("\n")
		}
		t.trend(tr, last)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

func (t *terminal) trend(tr *trend.Trend, last int) {
	t.printf("%s\n%s\n", t.paint(bold, tr.Row), t.paint(dim, tr.Machine))
	t.printf("%s\n", trendSummary(tr))
	if line := sparkline(tr, 60); line != "" {
		t.printf("\n  %s\n", line)
	}
	if len(tr.Changes) > 0 {
		t.printf("\n")
		t.changePoints(tr)
	}
	shown := len(tr.Points)
	if last > 0 {
		shown = min(shown, last)
	}
	t.printf("\n")
	t.points(tr, len(tr.Points)-shown)
	if shown < len(tr.Points) {
		t.printf("%s\n", t.paint(dim, fmt.Sprintf("the last %d of %d runs; --last 0 prints all", shown, len(tr.Points))))
	}
}

// trendSummary says what the trend is of, in a sentence or two.
func trendSummary(tr *trend.Trend) string {
	text := fmt.Sprintf("%s%s; ", words.Counted(len(tr.Points), "run"), span(tr))
	if tr.IsAnchor() {
		return text + "the row is the anchor that others are compared with (or has none), so it has no ratio: its times drift with the machine, and are not searched for changes"
	}
	text += "ratio to " + tr.Segments[len(tr.Segments)-1].Anchor.String() + "; "
	switch {
	case len(tr.Changes) > 0:
		text += words.Counted(len(tr.Changes), "change")
	case enoughPoints(tr):
		text += "no change"
	default:
		text += fmt.Sprintf("too few runs for a change: %d on either side are the least", stats.MinSegment)
	}
	if n := len(tr.Segments) - 1; n > 0 {
		text += fmt.Sprintf("; the anchor changed, %s in all: ratios do not continue across a change", words.Counted(n+1, "anchor segment"))
	}
	return text
}

func enoughPoints(tr *trend.Trend) bool {
	return slices.ContainsFunc(tr.Segments, func(s trend.Segment) bool { return s.To-s.From >= 2*stats.MinSegment })
}

// span is the time from the first run to the last, "" if that is not known.
func span(tr *trend.Trend) string {
	first, last := tr.Points[0].Started, tr.Points[len(tr.Points)-1].Started
	if first.IsZero() || last.IsZero() {
		return ""
	}
	if a, b := first.Format(time.DateOnly), last.Format(time.DateOnly); a != b {
		return " from " + a + " to " + b
	}
	return " on " + first.Format(time.DateOnly)
}

// sparkline is the trend's ratios as a line of blocks, at most columns of them, on a
// logarithmic scale; each is the median of the runs that fall to it.
func sparkline(tr *trend.Trend, columns int) string {
	var ratios []float64
	for i := range tr.Points {
		if r := tr.Points[i].Ratio; r != nil {
			ratios = append(ratios, r.Value)
		}
	}
	if len(ratios) < 2 {
		return ""
	}
	columns = min(columns, len(ratios))
	values := make([]float64, columns)
	for i := range values {
		values[i] = math.Log(stats.Median(ratios[i*len(ratios)/columns : (i+1)*len(ratios)/columns]))
	}
	low, high := slices.Min(values), slices.Max(values)
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		at := 0
		if high > low {
			at = int(math.Round((v - low) / (high - low) * float64(len(blocks)-1)))
		}
		b.WriteRune(blocks[at])
	}
	return fmt.Sprintf("%s  %s to %s", b.String(), ratio(math.Exp(low)), ratio(math.Exp(high)))
}

func (t *terminal) changePoints(tr *trend.Trend) {
	rows := [][]string{}
	for i := range tr.Changes {
		c := &tr.Changes[i]
		p := &tr.Points[c.Point]
		text := t.paint(green, factorText(c))
		if c.Factor() > 1 {
			text = t.paint(red, factorText(c))
		}
		rows = append(rows, []string{fmt.Sprint(c.Point + 1), startedText(p), commitText(p.Commit), ratio(c.Before) + " → " + ratio(c.After), text, probability(c.P), p.Run, alongWith(tr, c.Point)})
	}
	t.grid("", []string{"change at", "started", "commit", "ratio before → after", "time", "p", "run", "along with"}, rows, 1, 2, 3, 4, 6, 7)
}

func (t *terminal) points(tr *trend.Trend, from int) {
	rows := [][]string{}
	changed := map[int]bool{}
	for _, c := range tr.Changes {
		changed[c.Point] = true
	}
	for _, s := range tr.Segments[1:] {
		changed[s.From] = false
	}
	for i := from; i < len(tr.Points); i++ {
		p := &tr.Points[i]
		mark := ""
		if change, marked := changed[i]; change {
			mark = "changed"
		} else if marked {
			mark = "anchor is now " + p.Anchor.String()
		}
		if p.Partial {
			mark = strings.TrimPrefix(mark+", partial", ", ")
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), startedText(p), commitText(p.Commit), pointRatio(p), grouped(p.NSOp.Value), plusMinus(&p.NSOp), whole(p.BytesOp), whole(p.AllocsOp), p.Run, mark})
	}
	t.grid("", []string{"#", "started", "commit", "ratio (95% interval)", "ns/op", "±", "B/op", "allocs/op", "run", ""}, rows, 1, 2, 3, 8, 9)
}

// alongWith says what else is new in the first run after a change, as its possible cause.
func alongWith(tr *trend.Trend, point int) string {
	var news []string
	before, after := &tr.Points[max(0, point-1)], &tr.Points[point]
	if before.Module != after.Module {
		news = append(news, before.Module+" → "+after.Module)
	}
	if before.Go != after.Go {
		news = append(news, before.Go+" → "+after.Go)
	}
	return strings.Join(news, ", ")
}

// factorText is a change in words: "10.1% slower".
func factorText(c *trend.Change) string {
	f := c.Factor()
	switch {
	case f >= 1.995:
		return times(f) + " slower"
	case f > 1:
		return fmt.Sprintf("%.1f%% slower", 100*(f-1))
	case f <= 1/1.995:
		return times(1/f) + " faster"
	}
	return fmt.Sprintf("%.1f%% faster", 100*(1-f))
}

func startedText(p *trend.Point) string {
	if p.Started.IsZero() {
		return "n/a"
	}
	return p.Started.UTC().Format("2006-01-02 15:04")
}

// commitText is a commit as git abbreviates it.
func commitText(commit string) string {
	switch {
	case commit == "":
		return "n/a"
	case len(commit) > 10:
		_, changes, _ := strings.Cut(commit, "+") // "dirty", if some were not committed
		if changes != "" {
			changes = "+" + changes
		}
		return commit[:10] + changes
	}
	return commit
}

func pointRatio(p *trend.Point) string {
	if p.Ratio == nil {
		return "n/a"
	}
	return intervalText(*p.Ratio)
}

// bounded says that there were enough blocks for an interval.
func bounded(i *verdict.Interval) bool { return i.Low > 0 && !math.IsInf(i.High, 0) }

func whole(n *int64) string {
	if n == nil {
		return "n/a"
	}
	return words.Integer(*n)
}
