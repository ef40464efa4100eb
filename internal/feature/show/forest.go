package show

import (
	"cmp"
	"slices"

	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// The places of a forest plot, in the units of its SVG.
const (
	plotFrom  = 256
	plotTo    = 690
	rowHeight = 30
	// baseline is how far below a row's top its text stands.
	baseline = 17
	// labelLength is how many characters of a name have room.
	labelLength = 36
)

// forest shows each row's ratio with its interval.
type forest struct {
	Width, Height    int
	From, To, Bottom float64
	One              float64 // where the baseline is
	Floor            float64 // where the fastest floor is; 0 for none
	Ticks            []report.Tick
	Rows             []forestRow
	Describe         string
}

type forestRow struct {
	Name, Label, Class, Text string
	Top, At, Low, High       float64
	Interval                 bool
}

func newForest(c *verdict.CaseResult, results []*verdict.Result) *forest {
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
	values := []float64{1}
	for _, r := range results {
		if r.Ratio != nil {
			values = append(values, r.Ratio.Low, r.Ratio.High)
		}
	}
	x := report.NewLog(values, plotFrom, plotTo)
	f := &forest{Width: report.PlotWidth, Height: len(results)*rowHeight + report.AxisHeight - 16, From: plotFrom, To: plotTo, One: x.At(1),
		Bottom: float64(len(results) * rowHeight), Ticks: x.Ticks(report.TickText),
		Describe: "Multiples of the baseline's; the table below has the figures."}
	for i, r := range results {
		row := forestRow{
			Name:  r.Row.Contender,
			Label: report.Clipped(r.Row.Contender, labelLength),
			Class: verdictClass(r),
			Top:   float64(i*rowHeight) + baseline,
			At:    f.One,
			Text:  "baseline",
		}
		if r.Ratio != nil {
			row.At, row.Text = x.At(r.Ratio.Value), report.RatioText(*r.Ratio)
			if r.Ratio.Bounded() {
				row.Interval, row.Low, row.High = true, x.At(r.Ratio.Low), x.At(r.Ratio.High)
			}
		}
		if r.Row.Role == record.RoleFloor && (f.Floor == 0 || row.At < f.Floor) {
			f.Floor = row.At
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}
