package report

import (
	"fmt"
	"math"

	"postage/internal/verdict"
)

// bars is a plot of horizontal bars on a linear axis from 0. The parts of a bar follow each other,
// or, if they are not parts of a whole, are drawn one above the other.
type bars struct {
	Title, Note, Axis string
	Width, Height     int
	Bottom            float64
	Parts             []string // what the parts are, for the legend; one needs none
	Ticks             []tick
	Rows              []barRow
	TotalTitle        string // of the column of totals; "" for no table beneath
	apart             bool   // the parts are no parts of a whole
}

type barRow struct {
	Label, Text, Hint  string
	Top, At, Low, High float64
	Segments           []segment
	Whisker            bool
	Cells              []string // one a part, then the total
}

// segment is a part's place; Class is "part" and its number, from 0.
type segment struct {
	Class          string
	From, Width    float64
	Top, Thickness int
}

// bar is a row of bars before it has a place.
type bar struct {
	label, hint string
	parts       []verdict.Quantity // one a part; unknown where it is not known
	total       verdict.Quantity
	text        string // of the total
}

// linear maps values from 0 to places.
type linear struct{ high, from, to float64 }

func (a linear) at(v float64) float64 {
	return math.Round(10*(a.from+min(1, max(0, v/a.high))*(a.to-a.from))) / 10
}

// ticks are at most seven round values from 0.
func (a linear) ticks(text func(float64) string) []tick {
	step := math.Pow(10, math.Floor(math.Log10(a.high)))
	for _, divide := range []float64{5, 2, 1} {
		if a.high/(step/divide) <= 6 {
			step /= divide
			break
		}
	}
	var all []tick
	for i := 0; float64(i)*step <= a.high; i++ {
		label := "0"
		if i > 0 {
			label = text(float64(i) * step)
		}
		all = append(all, tick{a.at(float64(i) * step), label})
	}
	return all
}

const (
	barsFrom = 256
	barsTo   = 770
)

// place gives bars their places. text prints a figure.
func (p *bars) place(all []bar, text func(float64) string) {
	x := linear{p.highest(all) * 1.02, barsFrom, barsTo}
	p.Width, p.Height, p.Bottom = plotWidth, len(all)*rowHeight+axisHeight, float64(len(all)*rowHeight)
	p.Ticks = x.ticks(text)
	for i, b := range all {
		row := barRow{Label: clipped(b.label, labelLength), Hint: b.hint, Text: b.text, Top: float64(i*rowHeight) + baseline}
		end := 0.0
		for j, q := range b.parts {
			cell := "n/a"
			if q.Known {
				cell = spanText(q, text)
			}
			row.Cells = append(row.Cells, cell)
			if !q.Known || q.Value <= 0 {
				continue
			}
			part := segment{Class: fmt.Sprintf("part%d", j), From: x.at(end), Top: -13, Thickness: 16}
			if p.apart {
				part.From, part.Top, part.Thickness = x.at(0), -16+11*j, 11
				end = max(end, q.Value)
				part.Width = x.at(q.Value) - part.From
			} else {
				end += q.Value
				part.Width = x.at(end) - part.From
			}
			part.Width = math.Round(10*part.Width) / 10
			row.Segments = append(row.Segments, part)
		}
		if p.TotalTitle != "" {
			row.Cells = append(row.Cells, spanText(b.total, text))
		}
		row.At = x.at(end)
		if b.total.Bounded() && b.total.High > b.total.Low {
			row.Whisker, row.Low, row.High = true, x.at(b.total.Low), x.at(b.total.High)
			row.At = max(row.At, row.High)
		}
		p.Rows = append(p.Rows, row)
	}
}

// highest is where the axis ends: at the longest bar, or the end of its interval.
func (p *bars) highest(all []bar) float64 {
	high := 0.0
	for _, b := range all {
		sum := 0.0
		for _, q := range b.parts {
			switch {
			case !q.Known:
			case p.apart:
				sum = max(sum, q.Value)
			default:
				sum += max(0, q.Value)
			}
		}
		high = max(high, sum)
		if b.total.Known {
			high = max(high, b.total.Value)
		}
		if b.total.Bounded() {
			high = max(high, b.total.High)
		}
	}
	if high == 0 || math.IsInf(high, 0) {
		return 1
	}
	return high
}

// spanText is a figure with its interval, and whether that excludes 0.
func spanText(q verdict.Quantity, text func(float64) string) string {
	switch {
	case !q.Known:
		return "n/a"
	case !q.Bounded():
		return text(q.Value) + " (no interval yet)"
	case q.Low == q.High:
		return text(q.Value)
	case q.Undecided():
		return fmt.Sprintf("undecided (%s to %s)", text(q.Low), text(q.High))
	}
	return fmt.Sprintf("%s (%s to %s)", text(q.Value), text(q.Low), text(q.High))
}

// signedDuration is duration of a difference.
func signedDuration(ns float64) string {
	if ns < 0 {
		return "-" + duration(-ns)
	}
	return duration(ns)
}
