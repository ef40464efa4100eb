package history

import (
	"math"
	"time"

	"postage/internal/verdict"
)

// changeLevel is about how often a change is found in a trend in which nothing changed.
const changeLevel = 0.05

// Form is the JSON of a row's history, version 3: docs/reference/json.md says what the fields mean.
type Form struct {
	Version int      `json:"version"`
	Row     string   `json:"row"`
	Level   float64  `json:"level"`
	Trends  []*Trend `json:"trends"`
}

// Trend is how a row changed on a machine, beside an anchor.
type Trend struct {
	Machine string   `json:"machine"`
	Anchor  Anchor   `json:"anchor"`
	Points  []Point  `json:"points"` // in the order in which the runs were started
	Changes []Change `json:"changes"`
}

// Anchor is the contender that times are divided by.
type Anchor struct {
	Contender string `json:"contender"` // "codec=protobuf"
	// Version is its module and version, or Go's version if it has no module, as the standard
	// library and Postage's own code. An unusual seed or number of processors stands behind it.
	Version string `json:"version"`
}

func (a Anchor) String() string { return a.Contender + " (" + a.Version + ")" }

// Point is a row's figures in one run.
type Point struct {
	anchor   Anchor
	Run      string             `json:"run"` // the record's file
	Started  *time.Time         `json:"started"`
	Commit   *string            `json:"commit"`
	Go       string             `json:"go"`
	Module   string             `json:"module"` // the contender's module and version, "" for none
	Partial  bool               `json:"partial"`
	Blocks   int                `json:"blocks"`
	Ratio    verdict.Interval   `json:"ratio"` // the time as a multiple of the anchor's
	NSOp     verdict.Interval   `json:"ns_op"`
	BytesOp  *int64             `json:"bytes_op"`
	AllocsOp *int64             `json:"allocs_op"`
	Metrics  map[string]float64 `json:"metrics"`
}

// Change is where a row became faster or slower.
type Change struct {
	Point  int     `json:"index"`  // of the first point after the change
	Before float64 `json:"before"` // the median ratio since the change before, or since the first run
	After  float64 `json:"after"`  // the median ratio until the next change, or the last run
	Factor float64 `json:"factor"` // After/Before: 1.1 is 10% slower
	// P is at most how often a trend of this length, in which nothing changed, has a change as clear
	// as this one.
	P      float64 `json:"p"`
	Commit *string `json:"commit"` // the point's
}

// findChanges finds where the row became faster or slower.
func (t *Trend) findChanges() {
	logs := make([]float64, len(t.Points))
	for i := range t.Points {
		logs[i] = math.Log(t.Points[i].Ratio.Value)
	}
	t.Changes = changePoints(logs, changeLevel)
	for i := range t.Changes {
		c := &t.Changes[i]
		c.Before, c.After = math.Exp(c.Before), math.Exp(c.After)
		c.Factor = c.After / c.Before
		c.Commit = t.Points[c.Point].Commit
	}
}
