// Package trend says how a row changed over many runs. It knows no record: package history reads
// them.
//
//  1. A [Point] is what one run said of the row: above all its time as a multiple of its
//     anchor's in the same run, so that what made the whole machine slower or faster
//     between two runs cancels.
//  2. The anchor is a contender in one module version. Where the anchor changes, a new [Segment]
//     begins, since a ratio to something else says nothing about the row. A run in which the anchor
//     has no figures begins none.
//  3. In each segment the changes are those of [ChangePoints].
//
// Runs of different machines make different trends.
package trend

import (
	"math"
	"slices"
	"time"

	"postage/internal/verdict"
)

// Level is about the highest probability of a change point in a segment in which nothing changed.
const Level = 0.05

// Anchor is the contender that times are divided by.
type Anchor struct {
	Contender string `json:"contender"` // "codec=protobuf"
	// Version is its module and version; for the standard library and Postage's own code, which
	// have no module, Go's version. It also has an unusual seed or number of processors.
	Version string `json:"version"`
}

func (a Anchor) String() string { return a.Contender + " (" + a.Version + ")" }

// Entry is a record in the history.
type Entry struct {
	Name    string    `json:"name"` // of the file
	Started time.Time `json:"started,omitzero"`
	Machine string    `json:"machine"`
	Commit  string    `json:"commit,omitempty"`
	Seed    string    `json:"seed"` // text, since it may have 64 bits
	Go      string    `json:"go"`
	Partial bool      `json:"partial"`
	Cases   int       `json:"cases"`
	Figures int       `json:"rows"` // with figures
	Blocks  int       `json:"blocks"`
}

// Point is what one run said of a row.
type Point struct {
	Run     string    `json:"run"` // the record's file
	Started time.Time `json:"started,omitzero"`
	Commit  string    `json:"commit,omitempty"`
	Go      string    `json:"go"`
	Module  string    `json:"module"`  // the contender's module and version, "" for none
	Partial bool      `json:"partial"` // the run was not completed
	Blocks  int       `json:"blocks"`
	Anchor  Anchor    // the zero one where it has no figures
	// Ratio is the time as a multiple of the anchor's with its 95% interval, nil for the
	// anchor itself and where the anchor has no figures.
	Ratio    *verdict.Interval `json:"ratio"`
	NSOp     verdict.Interval  `json:"ns_op"`
	BytesOp  *int64            `json:"bytes_op"`
	AllocsOp *int64            `json:"allocs_op"`
	// Metrics are the row's other figures by unit.
	Metrics map[string]float64 `json:"metrics"`
}

// Trend is how a row changed on a machine.
type Trend struct {
	Row     string
	Machine string `json:"machine"`
	// Points are in the order in which the runs were started.
	Points   []Point   `json:"points"`
	Segments []Segment `json:"segments"`
	Changes  []Change
}

// Segment is the points from, including, to, excluding, that have one anchor.
type Segment struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Anchor Anchor `json:"anchor,omitzero"`
}

// Change is where a row became faster or slower, or a series of values changed.
type Change struct {
	// Point is the index of the first point, or value, after it.
	Point int `json:"index"`
	// Before and After are the medians of the ratios, or values, on either side, as far as the
	// neighbouring changes or the segment's ends.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// P is the probability of a change as clear as this anywhere in a segment of this length in
	// which nothing changed, at most.
	P float64 `json:"p"`
}

// Factor is the time after the change divided by that before: 1.1 is 10% slower.
func (c *Change) Factor() float64 { return c.After / c.Before }

// New makes the trend of points, which must be in the order in which the runs were started.
func New(row, machine string, points []Point) *Trend {
	t := &Trend{Row: row, Machine: machine, Points: points}
	var none Anchor
	for i := range points {
		is, last := points[i].Anchor, len(t.Segments)-1
		switch {
		case last < 0 || is != none && t.Segments[last].Anchor != none && t.Segments[last].Anchor != is:
			t.Segments = append(t.Segments, Segment{From: i, Anchor: is})
		case t.Segments[last].Anchor == none:
			t.Segments[last].Anchor = is
		}
		t.Segments[len(t.Segments)-1].To = i + 1
	}
	for _, s := range t.Segments {
		t.Changes = append(t.Changes, changes(points, s)...)
	}
	return t
}

// changes are those of a segment.
func changes(points []Point, s Segment) []Change {
	var logs []float64
	var at []int // the points that they are of
	for i := s.From; i < s.To; i++ {
		if r := points[i].Ratio; r != nil && r.Value > 0 && !math.IsInf(r.Value, 0) {
			logs = append(logs, math.Log(r.Value))
			at = append(at, i)
		}
	}
	all := ChangePoints(logs, Level)
	for i, c := range all {
		all[i] = Change{at[c.Point], math.Exp(c.Before), math.Exp(c.After), c.P}
	}
	return all
}

// Last is the trend of the last n points, with those of the changes found over all points
// that are among them.
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

// IsAnchor reports that the row is the one that others are compared with, and so has no ratio.
func (t *Trend) IsAnchor() bool {
	return !slices.ContainsFunc(t.Points, func(p Point) bool { return p.Ratio != nil })
}
