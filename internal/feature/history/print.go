package history

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/stats"
)

// pointsPrinted is how many points of a trend a terminal shows.
const pointsPrinted = 20

// PrintTrends writes how a row changed from run to run: for each trend a line, its changes, and its
// last points; in JSON all points.
func PrintTrends(w io.Writer, row string, trends []*Trend, form report.Form) error {
	if form.JSON {
		return trendsJSON(w, row, trends)
	}
	d := &report.Doc{Form: form}
	for _, tr := range trends {
		if len(tr.Points) == 0 {
			continue
		}
		if d.Len() > 0 {
			d.Printf("\n")
		}
		writeTrend(d, tr)
	}
	return d.Print(w)
}

func writeTrend(d *report.Doc, tr *Trend) {
	d.Lines(report.Bold, "", tr.Row, "  ")
	d.Note(tr.Machine)
	d.Lines(lipgloss.Style{}, "", trendSummary(tr), "  ")
	if line := sparkline(tr, 60); line != "" {
		d.Printf("\n  %s\n", line)
	}
	if len(tr.Changes) > 0 {
		d.Printf("\n")
		writeChangePoints(d, tr)
	}
	shown := min(pointsPrinted, len(tr.Points))
	d.Printf("\n")
	writePoints(d, tr, len(tr.Points)-shown)
	if shown < len(tr.Points) {
		d.Note(fmt.Sprintf("the last %d of %d runs; --json has all", shown, len(tr.Points)))
	}
}

// trendSummary says how many runs the trend has, what its ratio is to, and how often it changed.
func trendSummary(tr *Trend) string {
	text := fmt.Sprintf("%s%s; ", words.Counted(len(tr.Points), "run"), span(tr))
	if tr.IsAnchor() {
		return text + "the row is the anchor that others are compared with (or has none), so it has no ratio: its times drift with the machine, and are not searched for changes"
	}
	text += "ratio to " + tr.Segments[len(tr.Segments)-1].Anchor.String() + "; "
	switch {
	case len(tr.Changes) > 0:
		text += words.Counted(len(tr.Changes), "change")
	case slices.ContainsFunc(tr.Segments, func(s Segment) bool { return s.To-s.From >= 2*minSegment }):
		text += "no change"
	default:
		text += fmt.Sprintf("too few runs for a change: %d on either side are the least", minSegment)
	}
	if n := len(tr.Segments) - 1; n > 0 {
		text += fmt.Sprintf("; the anchor changed, %s in all: ratios do not continue across a change", words.Counted(n+1, "anchor segment"))
	}
	return text
}

// span is the dates of the first run and the last, "" if they are not known.
func span(tr *Trend) string {
	first, last := tr.Points[0].Started, tr.Points[len(tr.Points)-1].Started
	if first.IsZero() || last.IsZero() {
		return ""
	}
	if a, b := first.Format(time.DateOnly), last.Format(time.DateOnly); a != b {
		return " from " + a + " to " + b
	}
	return " on " + first.Format(time.DateOnly)
}

// sparkline draws the trend's ratios as a line of at most columns blocks, on a logarithmic scale.
// Each block stands for the median of some neighbouring runs.
func sparkline(tr *Trend, columns int) string {
	ratios := ratiosOf(tr)
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
	return fmt.Sprintf("%s  %s to %s", b.String(), report.Ratio(math.Exp(low)), report.Ratio(math.Exp(high)))
}

func ratiosOf(tr *Trend) (ratios []float64) {
	for i := range tr.Points {
		if r := tr.Points[i].Ratio; r != nil {
			ratios = append(ratios, r.Value)
		}
	}
	return ratios
}

func writeChangePoints(d *report.Doc, tr *Trend) {
	var rows []*Change
	for i := range tr.Changes {
		rows = append(rows, &tr.Changes[i])
	}
	point := func(c *Change) *Point { return &tr.Points[c.Point] }
	report.Table(d, []report.Column[*Change]{
		report.Figures("at", func(c *Change) string { return fmt.Sprint(c.Point + 1) }),
		report.Texts("started", func(c *Change) string { return startedText(point(c)) }),
		report.Texts("commit", func(c *Change) string { return commitText(point(c).Commit) }),
		report.Texts("ratio", func(c *Change) string { return report.Ratio(c.Before) + " → " + report.Ratio(c.After) }),
		report.Texts("change", factorText),
		report.Figures("p", func(c *Change) string { return report.Probability(c.P) }),
		report.Texts("run", func(c *Change) string { return point(c).Run }).When(report.IfRoom),
		report.Texts("along with", func(c *Change) string { return alongWith(tr, c.Point) }).When(report.IfWide),
	}, rows, func(c *Change, text string) string {
		switch {
		case text != factorText(c):
			return text
		case c.Factor() > 1:
			return d.Paint(report.Red, text)
		}
		return d.Paint(report.Green, text)
	})
	for _, c := range rows {
		if with := alongWith(tr, c.Point); with != "" && !d.Wide {
			d.Lines(lipgloss.Style{}, "", fmt.Sprintf("%d along with %s", c.Point+1, with), "  ")
		}
	}
}

func writePoints(d *report.Doc, tr *Trend, from int) {
	marks := map[int]string{}
	for _, c := range tr.Changes {
		marks[c.Point] = "changed"
	}
	for _, s := range tr.Segments[1:] {
		marks[s.From] = "new anchor"
		if d.Wide {
			marks[s.From] = "anchor is now " + s.Anchor.String()
		}
	}
	var rows []int
	for i := from; i < len(tr.Points); i++ {
		rows = append(rows, i)
	}
	ofPoint := func(text func(*Point) string) func(int) string {
		return func(i int) string { return text(&tr.Points[i]) }
	}
	interval := pointRatio
	if !d.Wide {
		interval = func(p *Point) string { return report.Known(p.Ratio, report.ShortRatio) }
	}
	report.Table(d, []report.Column[int]{
		report.Figures("#", func(i int) string { return fmt.Sprint(i + 1) }),
		report.Texts("started", ofPoint(startedText)),
		report.Texts("commit", ofPoint(func(p *Point) string { return commitText(p.Commit) })),
		report.Texts("ratio (95% interval)", ofPoint(interval)),
		report.Figures("ns/op", ofPoint(func(p *Point) string { return report.Grouped(p.NSOp.Value) })).When(report.IfWide),
		report.Figures("±", ofPoint(func(p *Point) string { return report.PlusMinus(&p.NSOp) })).When(report.IfWide),
		report.Figures("B/op", ofPoint(func(p *Point) string { return report.Known(p.BytesOp, words.Integer) })).When(report.IfWide),
		report.Figures("allocs/op", ofPoint(func(p *Point) string { return report.Known(p.AllocsOp, words.Integer) })).When(report.IfWide),
		report.Texts("run", ofPoint(func(p *Point) string { return p.Run })).When(report.IfRoom),
		report.Texts("", func(i int) string {
			if tr.Points[i].Partial {
				return strings.TrimPrefix(marks[i]+", partial", ", ")
			}
			return marks[i]
		}),
	}, rows, nil)
}

// alongWith says which new module or Go version, a possible cause, came with a change.
func alongWith(tr *Trend, point int) string {
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
func factorText(c *Change) string {
	f := c.Factor()
	switch {
	case f >= 1.995:
		return report.Times(f) + " slower"
	case f > 1:
		return fmt.Sprintf("%.1f%% slower", 100*(f-1))
	case f <= 1/1.995:
		return report.Times(1/f) + " faster"
	}
	return fmt.Sprintf("%.1f%% faster", 100*(1-f))
}

func startedText(p *Point) string {
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

func pointRatio(p *Point) string { return report.Known(p.Ratio, report.RatioText) }
