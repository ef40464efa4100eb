package loadagainst

import (
	_ "embed"
	"io"

	"postage/internal/feature/loadpage"
	"postage/internal/kit/report"
)

//go:embed page.gohtml
var pageText string

// HTML writes a page with the answer and both sides' latencies. It needs no network.
func (r *Record) HTML(w io.Writer) error {
	result := r.Analyze()
	all := func(float64) bool { return true }
	plot, err := loadpage.Distribution(
		loadpage.Distributed{Name: "old: " + r.Header.Old, Quantiles: loadpage.Quantiles(result.sides[0].Latency, all)},
		loadpage.Distributed{Name: "new: " + r.Header.New, Quantiles: loadpage.Quantiles(result.sides[1].Latency, all)})
	if err != nil {
		return err
	}
	type row struct{ Name, Old, New, Change, Difference, Verdict string }
	var rows []row
	for i := range result.Figures {
		f := &result.Figures[i]
		rows = append(rows, row{f.Name, f.number(f.Old), f.number(f.New), f.change(), f.difference(), f.verdict()})
	}
	body, err := report.Fragment(pageText, nil, map[string]any{
		"Header": r.Header, "Result": result, "Rows": rows, "Failures": result.failures(), "Plot": plot, "Method": r.method(), "Level": result.level(),
	})
	if err != nil {
		return err
	}
	return loadpage.Write(w, body)
}
