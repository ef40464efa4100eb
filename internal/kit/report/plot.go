package report

import (
	"fmt"
	"math"
	"strings"
)

// Scale maps values to places, in the units of an SVG.
type Scale interface {
	At(v float64) float64
	Ticks(text func(float64) string) []Tick
}

// Linear is a linear scale: values from Low to High are at places from From to To.
type Linear struct{ Low, High, From, To float64 }

// NewLinear makes a linear scale.
func NewLinear(low, high, from, to float64) Linear { return Linear{low, high, from, to} }

func (a Linear) At(v float64) float64 {
	share := (v - a.Low) / (a.High - a.Low)
	return tenth(a.From + min(1, max(0, share))*(a.To-a.From))
}

// Ticks returns a few round values.
func (a Linear) Ticks(text func(float64) string) (ticks []Tick) {
	step := math.Pow(10, math.Floor(math.Log10(a.High-a.Low)))
	for _, finer := range []float64{5, 4, 2} {
		if (a.High-a.Low)/(step/finer) <= 6 {
			step /= finer
			break
		}
	}
	for i := math.Ceil(a.Low / step); i*step <= a.High; i++ {
		v := math.Round(i*step*1e9) / 1e9
		ticks = append(ticks, Tick{a.At(v), text(v)})
	}
	return ticks
}

func tenth(v float64) float64 { return math.Round(10*v) / 10 }

// Log is a logarithmic scale.
type Log struct {
	Low, High float64 // values at its ends
	From, To  float64 // places of its ends
}

// NewLog spans the values that are positive and finite, with a little room.
func NewLog(values []float64, from, to float64) Log {
	a := Log{math.Inf(1), 0, from, to}
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			a.Low, a.High = min(a.Low, v), max(a.High, v)
		}
	}
	if a.High == 0 {
		a.Low, a.High = 1, 1
	}
	room := math.Pow(a.High/a.Low, 0.04) * 1.02
	a.Low, a.High = a.Low/room, a.High*room
	return a
}

func (a Log) At(v float64) float64 {
	share := math.Log(v/a.Low) / math.Log(a.High/a.Low)
	return tenth(a.From + min(1, max(0, share))*(a.To-a.From))
}

// Path is an SVG path through points, broken where a place is not a number.
func Path(points int, at func(i int) (x, y float64)) string {
	var path strings.Builder
	pen := "M"
	for i := range points {
		x, y := at(i)
		if math.IsNaN(x + y) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%g %g", pen, x, y)
		if pen == "M" {
			path.WriteString("h0") // so that a single point shows too
		}
		pen = "L"
	}
	return path.String()
}

// Tick is a labelled place on an axis.
type Tick struct {
	At   float64
	Text string
}

// Ticks returns at most about eight round values.
func (a Log) Ticks(text func(float64) string) []Tick {
	var all []Tick
	fine := []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}
	for _, steps := range [][]float64{fine, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		all = nil
		for e := math.Floor(math.Log10(a.Low)); e <= math.Ceil(math.Log10(a.High)); e++ {
			for _, step := range steps {
				if v := step * math.Pow(10, e); v >= a.Low && v <= a.High {
					all = append(all, Tick{a.At(v), text(v)})
				}
			}
		}
		if len(all) <= 8 {
			break
		}
	}
	return all
}

// TickText prints a tick's value.
func TickText(v float64) string { return fmt.Sprintf("%.4g", v) }

// Clipped cuts a name off after so many characters. A table beside it has the whole name.
func Clipped(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// PlotWidth is a plot's width, and AxisHeight the height of its axis, in units of its SVG.
const (
	PlotWidth  = 900
	AxisHeight = 40
)
