package history

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
)

// pointsPrinted is how many points of a trend a terminal shows.
const pointsPrinted = 20

// Print writes how a row changed from run to run: for each trend its changes and its last points; in
// JSON all points.
func Print(w io.Writer, row string, trends []*Trend, form report.Form) error {
	if form.JSON {
		return report.WriteJSON(w, Form{3, row, changeLevel, trends})
	}
	d := &report.Doc{Form: form}
	d.Title(row)
	for i, t := range trends {
		if i > 0 {
			d.Printf("\n")
		}
		t.print(d)
	}
	return d.Print(w)
}

func (t *Trend) print(d *report.Doc) {
	d.Note(t.Machine)
	d.Printf("\n")
	d.Paragraph("", t.summary())
	report.Table(d, t.changeColumns(), t.changes(), func(c *Change, text string) string {
		switch {
		case text != c.text():
			return text
		case c.Factor > 1:
			return d.Paint(report.Red, text)
		}
		return d.Paint(report.Green, text)
	})
	if len(t.Changes) > 0 && len(t.causes()) == 0 && !d.Markdown {
		d.Printf("\n")
	}
	d.Paragraph("", t.causes()...)
	hidden := max(0, len(t.Points)-pointsPrinted)
	report.Table(d, t.pointColumns(), t.points()[hidden:], nil)
	if hidden > 0 {
		d.Note(fmt.Sprintf("the last %d of %d runs; --json has all", pointsPrinted, len(t.Points)))
	}
}

// summary says how many runs the trend has, what its ratio is to, and how often it changed.
func (t *Trend) summary() string {
	text := words.Counted(len(t.Points), "run")
	first, last := t.Points[0].Started, t.Points[len(t.Points)-1].Started
	if first != nil && last != nil {
		text += fmt.Sprintf(" from %s to %s", first.Format(time.DateOnly), last.Format(time.DateOnly))
	}
	text += "; ratio to " + t.Anchor.String() + "; "
	switch {
	case len(t.Changes) > 0:
		return text + words.Counted(len(t.Changes), "change")
	case len(t.Points) >= 2*minSegment:
		return text + "no change"
	}
	return text + fmt.Sprintf("too few runs for a change: %d on either side are the least", minSegment)
}

func (t *Trend) changes() (all []*Change) {
	for i := range t.Changes {
		all = append(all, &t.Changes[i])
	}
	return all
}

func (t *Trend) changeColumns() []report.Column[*Change] {
	point := func(c *Change) *Point { return &t.Points[c.Point] }
	return []report.Column[*Change]{
		report.Figures("at", func(c *Change) string { return fmt.Sprint(c.Point + 1) }),
		report.Texts("started", func(c *Change) string { return point(c).started() }),
		report.Texts("commit", func(c *Change) string { return report.Known(c.Commit, shortCommit) }),
		report.Texts("ratio", func(c *Change) string { return report.Ratio(c.Before) + " → " + report.Ratio(c.After) }),
		report.Texts("change", (*Change).text),
		report.Figures("p", func(c *Change) string { return report.Probability(c.P) }),
		report.Texts("run", func(c *Change) string { return point(c).Run }).When(report.IfRoom),
	}
}

// points are the points' indices.
func (t *Trend) points() (all []int) {
	for i := range t.Points {
		all = append(all, i)
	}
	return all
}

func (t *Trend) pointColumns() []report.Column[int] {
	pointText := func(text func(*Point) string) func(int) string {
		return func(i int) string { return text(&t.Points[i]) }
	}
	return []report.Column[int]{
		report.Figures("#", func(i int) string { return fmt.Sprint(i + 1) }),
		report.Texts("started", pointText((*Point).started)),
		report.Texts("commit", pointText(func(p *Point) string { return report.Known(p.Commit, shortCommit) })),
		report.Texts("ratio (95% interval)", pointText(func(p *Point) string { return report.ShortRatio(p.Ratio) })),
		report.Figures("ns/op", pointText(func(p *Point) string { return report.Grouped(p.NSOp.Value) })).When(report.IfWide),
		report.Figures("B/op", pointText(func(p *Point) string { return report.Known(p.BytesOp, words.Integer) })).When(report.IfWide),
		report.Figures("allocs/op", pointText(func(p *Point) string { return report.Known(p.AllocsOp, words.Integer) })).When(report.IfWide),
		report.Texts("run", pointText(func(p *Point) string { return p.Run })).When(report.IfRoom),
		report.Texts("", func(i int) string {
			switch {
			case t.Points[i].Partial:
				return "partial"
			case slices.ContainsFunc(t.Changes, func(c Change) bool { return c.Point == i }):
				return "changed"
			}
			return ""
		}),
	}
}

// causes say which new module or Go version, a possible cause, came with a change.
func (t *Trend) causes() (lines []string) {
	for _, c := range t.Changes {
		var news []string
		before, after := &t.Points[c.Point-1], &t.Points[c.Point]
		if before.Module != after.Module {
			news = append(news, before.Module+" → "+after.Module)
		}
		if before.Go != after.Go {
			news = append(news, before.Go+" → "+after.Go)
		}
		if len(news) > 0 {
			lines = append(lines, fmt.Sprintf("%d along with %s", c.Point+1, strings.Join(news, ", ")))
		}
	}
	return lines
}

// text is the change in words: "10.1% slower".
func (c *Change) text() string {
	if c.Factor > 1 {
		return fmt.Sprintf("%.1f%% slower", 100*(c.Factor-1))
	}
	return fmt.Sprintf("%.1f%% faster", 100*(1-c.Factor))
}

func (p *Point) started() string {
	return report.Known(p.Started, func(t time.Time) string { return t.Format("2006-01-02 15:04") })
}

// shortCommit is a commit as git abbreviates it.
func shortCommit(commit string) string {
	hash, changes, dirty := strings.Cut(commit, "+") // "dirty", if some changes were not committed
	if dirty {
		changes = "+" + changes
	}
	return fmt.Sprintf("%.10s%s", hash, changes)
}
