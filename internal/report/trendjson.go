package report

import (
	"encoding/json"
	"io"

	"postage/internal/history/trend"
)

// The JSON form of a history, version 1: a stable interface. What is not known is null.
type (
	jsonHistory struct {
		Version int         `json:"version"`
		Records []jsonEntry `json:"records"`
	}
	jsonEntry struct {
		Record  int64   `json:"record"`
		Name    string  `json:"name"`
		Started *string `json:"started"` // RFC 3339, UTC
		Added   *string `json:"added"`
		Machine string  `json:"machine"`
		Commit  *string `json:"commit"`
		Seed    string  `json:"seed"` // text, since it may have 64 bits
		Go      string  `json:"go"`
		Partial bool    `json:"partial"`
		Cases   int     `json:"cases"`
		Rows    int     `json:"rows"`
		Blocks  int     `json:"blocks"`
	}
	jsonTrends struct {
		Version int         `json:"version"`
		Row     string      `json:"row"`
		Level   float64     `json:"level"` // of the test for a change
		Trends  []jsonTrend `json:"trends"`
	}
	jsonTrend struct {
		Machine  string        `json:"machine"`
		Segments []jsonSegment `json:"segments"`
		Changes  []jsonPoint   `json:"changes"`
		Points   []jsonMoment  `json:"points"`
	}
	jsonSegment struct {
		From   int         `json:"from"` // index of its first point
		To     int         `json:"to"`   // one more than that of its last
		Anchor *jsonAnchor `json:"anchor"`
	}
	jsonAnchor struct {
		Contender string `json:"contender"`
		Version   string `json:"version"`
	}
	jsonPoint struct {
		Index  int     `json:"index"` // of the first point after the change
		Record int64   `json:"record"`
		Commit *string `json:"commit"`
		Before float64 `json:"before"`
		After  float64 `json:"after"`
		Factor float64 `json:"factor"`
		P      float64 `json:"p"`
	}
	jsonMoment struct {
		Record   int64           `json:"record"`
		Run      string          `json:"run"`
		Started  *string         `json:"started"`
		Commit   *string         `json:"commit"`
		Go       string          `json:"go"`
		Module   string          `json:"module"`
		Partial  bool            `json:"partial"`
		Blocks   int             `json:"blocks"`
		Ratio    *jsonValue      `json:"ratio"`
		NSOp     jsonValue       `json:"ns_op"`
		BytesOp  *int64          `json:"bytes_op"`
		AllocsOp *int64          `json:"allocs_op"`
		Metrics  json.RawMessage `json:"metrics"`
	}
)

// historyJSON writes the records of a history.
func historyJSON(w io.Writer, entries []trend.Entry) error {
	out := jsonHistory{Version: 1, Records: []jsonEntry{}}
	for _, e := range entries {
		out.Records = append(out.Records, jsonEntry{Record: e.Record, Name: e.Name, Started: timestamp(e.Started), Added: timestamp(e.Added), Machine: e.Machine,
			Commit: orNull(e.Commit), Seed: e.Seed, Go: e.Go, Partial: e.Partial, Cases: e.Cases, Rows: e.Figures, Blocks: e.Blocks})
	}
	return writeJSON(w, out)
}

// trendJSON writes how a row changed, with all points.
func trendJSON(w io.Writer, row string, trends []*trend.Trend) error {
	out := jsonTrends{Version: 1, Row: row, Level: trend.Level, Trends: []jsonTrend{}}
	for _, t := range trends {
		j := jsonTrend{Machine: t.Machine, Segments: []jsonSegment{}, Changes: []jsonPoint{}, Points: []jsonMoment{}}
		for _, s := range t.Segments {
			segment := jsonSegment{From: s.From, To: s.To}
			if s.Anchor != (trend.Anchor{}) {
				segment.Anchor = &jsonAnchor{s.Anchor.Contender, s.Anchor.Version}
			}
			j.Segments = append(j.Segments, segment)
		}
		for i := range t.Changes {
			c := &t.Changes[i]
			p := &t.Points[c.Point]
			j.Changes = append(j.Changes, jsonPoint{c.Point, p.Record, orNull(p.Commit), c.Before, c.After, c.Factor(), c.P})
		}
		for i := range t.Points {
			p := &t.Points[i]
			m := jsonMoment{Record: p.Record, Run: p.Run, Started: timestamp(p.Started), Commit: orNull(p.Commit), Go: p.Go, Module: p.Module, Partial: p.Partial, Blocks: p.Blocks,
				Ratio: newJSONValue(p.Ratio), NSOp: *newJSONValue(&p.NSOp), BytesOp: p.BytesOp, AllocsOp: p.AllocsOp, Metrics: p.Metrics}
			j.Points = append(j.Points, m)
		}
		out.Trends = append(out.Trends, j)
	}
	return writeJSON(w, out)
}
