package history

import (
	"io"

	"postage/internal/kit/report"
	"postage/internal/verdict"
)

// The JSON of a history, version 2: docs/reference/json.md says what the fields mean.
type (
	TrendsForm struct {
		Version int         `json:"version"`
		Row     string      `json:"row"`
		Level   float64     `json:"level"`
		Trends  []trendForm `json:"trends"`
	}
	trendForm struct {
		Machine  string    `json:"machine"`
		Points   []point   `json:"points"`
		Segments []segment `json:"segments"`
		Changes  []change  `json:"changes"`
	}
	point struct {
		Run      string             `json:"run"`
		Started  *string            `json:"started"`
		Commit   *string            `json:"commit"`
		Go       string             `json:"go"`
		Module   string             `json:"module"`
		Partial  bool               `json:"partial"`
		Blocks   int                `json:"blocks"`
		Ratio    *verdict.Interval  `json:"ratio"`
		NSOp     verdict.Interval   `json:"ns_op"`
		BytesOp  *int64             `json:"bytes_op"`
		AllocsOp *int64             `json:"allocs_op"`
		Metrics  map[string]float64 `json:"metrics"`
	}
	segment struct {
		From   int     `json:"from"`
		To     int     `json:"to"`
		Anchor *anchor `json:"anchor"`
	}
	anchor struct {
		Contender string `json:"contender"`
		Version   string `json:"version"`
	}
	change struct {
		Point  int     `json:"index"`
		Before float64 `json:"before"`
		After  float64 `json:"after"`
		P      float64 `json:"p"`
		Commit *string `json:"commit"`
		Factor float64 `json:"factor"`
	}
)

// trendsJSON writes how a row changed, with all points.
func trendsJSON(w io.Writer, row string, trends []*Trend) error {
	out := TrendsForm{Version: 2, Row: row, Level: changeLevel, Trends: []trendForm{}}
	for _, t := range trends {
		form := trendForm{Machine: t.Machine, Points: []point{}, Segments: []segment{}, Changes: []change{}}
		for i := range t.Points {
			p := &t.Points[i]
			form.Points = append(form.Points, point{
				Run: p.Run, Started: report.Time(p.Started), Commit: report.OrNull(p.Commit), Go: p.Go, Module: p.Module,
				Partial: p.Partial, Blocks: p.Blocks, Ratio: p.Ratio, NSOp: p.NSOp, BytesOp: p.BytesOp, AllocsOp: p.AllocsOp, Metrics: p.Metrics,
			})
		}
		for _, s := range t.Segments {
			form.Segments = append(form.Segments, segment{s.From, s.To, (*anchor)(report.OrNull(s.Anchor))})
		}
		for _, c := range t.Changes {
			p := &t.Points[c.Point]
			form.Changes = append(form.Changes, change{c.Point, c.Before, c.After, c.P, report.OrNull(p.Commit), c.Factor()})
		}
		out.Trends = append(out.Trends, form)
	}
	return report.WriteJSON(w, out)
}
