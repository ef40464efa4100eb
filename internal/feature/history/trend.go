package history

import (
	"math"
	"slices"
	"time"

	"postage/internal/verdict"
)

// changeLevel is about how often a change is found in a segment in which nothing changed.
const changeLevel = 0.05

// Anchor is the contender that times are divided by.
type Anchor struct {
	Contender string // "codec=protobuf"
	// Version is its module and version, or Go's version if it has no module, as the standard
	// library and Postage's own code. An unusual seed or number of processors stands behind it.
	Version string
}

func (a Anchor) String() string { return a.Contender + " (" + a.Version + ")" }

// Point is a row's figures in one run.
type Point struct {
	Run     string // the record's file
	Started time.Time
	Commit  string
	Go      string
	Module  string // the contender's module and version, "" for none
	Partial bool   // the run was not completed
	Blocks  int
	Anchor  Anchor // zero if the anchor has no figures
	// Ratio is the time as a multiple of the anchor's, with its 95% interval. It is nil for the
	// anchor itself, and if the anchor has no figures.
	Ratio    *verdict.Interval
	NSOp     verdict.Interval
	BytesOp  *int64
	AllocsOp *int64
	// Metrics are the row's other figures by unit.
	Metrics map[string]float64
}

// Trend is how a row changed on a machine.
type Trend struct {
	Row     string
	Machine string
	// Points are in the order in which the runs were started.
	Points   []Point
	Segments []Segment
	Changes  []Change
}

// Segment is points in a row that have one anchor: From is the first, To the one after the last.
type Segment struct {
	From   int
	To     int
	Anchor Anchor
}

// Change is where a row became faster or slower.
type Change struct {
	// Point is the index of the first point after the change.
	Point int
	// Before and After are the median ratios on either side, as far as the next change or the
	// segment's end.
	Before float64
	After  float64
	// P is at most how often a segment of this length, in which nothing changed, has a change as
	// clear as this one.
	P float64
}

// Factor is the time after the change divided by the time before it: 1.1 is 10% slower.
func (c *Change) Factor() float64 { return c.After / c.Before }

// NewTrend makes the trend of points, which must be in the order in which the runs were started.
func NewTrend(row, machine string, points []Point) *Trend {
	t := &Trend{Row: row, Machine: machine, Points: points}
	var none Anchor
	for i := range points {
		now, last := points[i].Anchor, len(t.Segments)-1
		switch {
		case last < 0 || now != none && t.Segments[last].Anchor != none && t.Segments[last].Anchor != now:
			t.Segments = append(t.Segments, Segment{From: i, Anchor: now})
		case t.Segments[last].Anchor == none:
			t.Segments[last].Anchor = now
		}
		t.Segments[len(t.Segments)-1].To = i + 1
	}
	for _, s := range t.Segments {
		t.Changes = append(t.Changes, s.changes(points)...)
	}
	return t
}

// changes finds where the row became faster or slower within the segment.
func (s Segment) changes(points []Point) []Change {
	var logs []float64
	var at []int // the index of each one's point
	for i := s.From; i < s.To; i++ {
		if r := points[i].Ratio; r != nil && r.Value > 0 && !math.IsInf(r.Value, 0) {
			logs = append(logs, math.Log(r.Value))
			at = append(at, i)
		}
	}
	all := changePoints(logs, changeLevel)
	for i, c := range all {
		all[i] = Change{at[c.Point], math.Exp(c.Before), math.Exp(c.After), c.P}
	}
	return all
}

// Last is the trend of the last n points. Its changes were found over all points.
func (t *Trend) Last(n int) *Trend {
	cut := len(t.Points) - n
	if cut <= 0 {
		return t
	}
	out := &Trend{Row: t.Row, Machine: t.Machine, Points: t.Points[cut:]}
	for _, s := range t.Segments {
		if s.To > cut {
			out.Segments = append(out.Segments, Segment{From: max(0, s.From-cut), To: s.To - cut, Anchor: s.Anchor})
		}
	}
	for _, c := range t.Changes {
		if c.Point >= cut {
			c.Point -= cut
			out.Changes = append(out.Changes, c)
		}
	}
	return out
}

// IsAnchor reports whether the row has no ratio, as the one that others are compared with.
func (t *Trend) IsAnchor() bool {
	return !slices.ContainsFunc(t.Points, func(p Point) bool { return p.Ratio != nil })
}
