package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/record"
)

// scale maps values to places, in the units of an SVG.
type scale interface {
	at(v float64) float64
	ticks(text func(float64) string) []tick
}

// linear is a linear scale.
type linear struct{ low, high, from, to float64 }

func (a linear) at(v float64) float64 {
	share := (v - a.low) / (a.high - a.low)
	return tenth(a.from + min(1, max(0, share))*(a.to-a.from))
}

// ticks are a few round values.
func (a linear) ticks(text func(float64) string) (ticks []tick) {
	step := math.Pow(10, math.Floor(math.Log10(a.high-a.low)))
	for _, finer := range []float64{5, 4, 2} {
		if (a.high-a.low)/(step/finer) <= 6 {
			step /= finer
			break
		}
	}
	for i := math.Ceil(a.low / step); i*step <= a.high; i++ {
		v := math.Round(i*step*1e9) / 1e9
		ticks = append(ticks, tick{a.at(v), text(v)})
	}
	return ticks
}

func tenth(v float64) float64 { return math.Round(10*v) / 10 }

// axis is a logarithmic scale.
type axis struct {
	low, high float64 // values at its ends
	from, to  float64 // places of its ends
}

// newAxis spans the positive, finite ones of the values, with a little room.
func newAxis(values []float64, from, to float64) axis {
	a := axis{math.Inf(1), 0, from, to}
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if a.high == 0 {
		a.low, a.high = 1, 1
	}
	room := math.Pow(a.high/a.low, 0.04) * 1.02
	a.low, a.high = a.low/room, a.high*room
	return a
}

func (a axis) at(v float64) float64 {
	share := math.Log(v/a.low) / math.Log(a.high/a.low)
	return tenth(a.from + min(1, max(0, share))*(a.to-a.from))
}

// tick is a labelled place on an axis.
type tick struct {
	At   float64
	Text string
}

// ticks are at most about eight round values.
func (a axis) ticks(text func(float64) string) []tick {
	var all []tick
	for _, steps := range [][]float64{{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		all = nil
		for e := math.Floor(math.Log10(a.low)); e <= math.Ceil(math.Log10(a.high)); e++ {
			for _, step := range steps {
				if v := step * math.Pow(10, e); v >= a.low && v <= a.high {
					all = append(all, tick{a.at(v), text(v)})
				}
			}
		}
		if len(all) <= 8 {
			break
		}
	}
	return all
}

func tickText(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.4g", v), ".0") }

// The places of a forest plot, in the units of its SVG.
const (
	plotWidth  = 900
	labelWidth = 240
	plotFrom   = 256
	plotTo     = 690
	rowHeight  = 30
	// baseline is where a row's text stands, and what its places are counted from.
	baseline = 17
	// labelLength is how many characters of a name there is room for.
	labelLength = 36
	axisHeight  = 40
)

// forest shows each row's ratio with its interval, and below it the values of its blocks.
type forest struct {
	Width, Height    int
	From, To, Bottom float64
	One              float64 // where the baseline is
	Floor            float64 // where the fastest floor is; 0 for none
	Ticks            []tick
	Rows             []forestRow
	Describe         string
}

type forestRow struct {
	Label, Class, Text, Hint string
	Top, At, Low, High       float64
	Interval                 bool
	Strip                    string // path of one dot a block
}

func newForest(c *verdict.CaseResult, results []*verdict.Result, common map[string]string) *forest {
	if c.Baseline == nil || c.Baseline.NSOp == nil {
		return nil
	}
	place := func(r *verdict.Result) float64 {
		if r.Ratio == nil {
			return 1
		}
		return r.Ratio.Value
	}
	results = slices.Clone(results)
	slices.SortStableFunc(results, func(a, b *verdict.Result) int { return cmp.Compare(place(a), place(b)) })
	blocks := map[*verdict.Result][]float64{}
	values := []float64{1}
	for _, r := range results {
		for _, v := range c.BlockValues(r, c.Baseline) {
			blocks[r] = append(blocks[r], math.Exp(v))
		}
		values = append(values, blocks[r]...)
		if r.Ratio != nil {
			values = append(values, r.Ratio.Low, r.Ratio.High)
		}
	}
	x := newAxis(values, plotFrom, plotTo)
	f := &forest{Width: plotWidth, Height: len(results)*rowHeight + axisHeight - 16, From: plotFrom, To: plotTo, One: x.at(1),
		Bottom: float64(len(results) * rowHeight), Ticks: x.ticks(tickText),
		Describe: "Multiples of the baseline's; the table below has the figures."}
	for i, r := range results {
		row := forestRow{Label: clipped(r.Row.Contender, labelLength), Class: verdictClass(r), Hint: hint(r, common), Top: float64(i*rowHeight) + baseline, At: f.One, Text: "baseline"}
		if r.Ratio != nil {
			row.At, row.Text = x.at(r.Ratio.Value), RatioText(r.Ratio.Interval)
			if r.Ratio.Bounded() {
				row.Interval, row.Low, row.High = true, x.at(r.Ratio.Low), x.at(r.Ratio.High)
			}
			row.Strip = strip(blocks[r], x)
		}
		if r.Row.Role == record.RoleFloor && (f.Floor == 0 || row.At < f.Floor) {
			f.Floor = row.At
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// strip is a path of one dot per value, below a row's mark. Dots are at least three units apart;
// values at the same place share one.
func strip(values []float64, x axis) string {
	var path strings.Builder
	last := math.Inf(-1)
	for _, v := range slices.Sorted(slices.Values(values)) {
		switch at := 3 * math.Round(x.at(v)/3); {
		case path.Len() == 0:
			fmt.Fprintf(&path, "M%.0f 5h0", at)
			last = at
		case at > last:
			fmt.Fprintf(&path, "m%.0f 0h0", at-last)
			last = at
		}
	}
	return path.String()
}

// clipped shortens a name that is too long for its place; the table has it in full.
func clipped(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
