package report

import (
	"fmt"
	"math"
	"strings"
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

// clipped shortens a name that is too long for its place; the table has it in full.
func clipped(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// PlotWidth is a plot's width, and AxisHeight what its axis takes of the height, in units of its SVG.
const (
	plotWidth  = 900
	axisHeight = 40
)
