package history

import (
	"io"

	"postage/internal/history/trend"
	"postage/internal/report"
)

// The JSON of a history, version 1.
type (
	jsonHistory struct {
		Version int           `json:"version"`
		Records []trend.Entry `json:"records"`
	}
	jsonTrends struct {
		Version int         `json:"version"`
		Row     string      `json:"row"`
		Level   float64     `json:"level"` // of the test for a change
		Trends  []jsonTrend `json:"trends"`
	}
	jsonTrend struct {
		*trend.Trend
		Changes []jsonPoint `json:"changes"`
	}
	jsonPoint struct {
		*trend.Change
		Record int64   `json:"record"`
		Commit string  `json:"commit,omitempty"`
		Factor float64 `json:"factor"`
	}
)

// trendJSON writes how a row changed, with all points.
func trendJSON(w io.Writer, row string, trends []*trend.Trend) error {
	out := jsonTrends{Version: 1, Row: row, Level: trend.Level}
	for _, t := range trends {
		j := jsonTrend{Trend: t}
		for i := range t.Changes {
			c := &t.Changes[i]
			j.Changes = append(j.Changes, jsonPoint{c, t.Points[c.Point].Record, t.Points[c.Point].Commit, c.Factor()})
		}
		out.Trends = append(out.Trends, j)
	}
	return report.WriteJSON(w, out)
}
