package show

import (
	"testing"

	"postage/internal/verdict"
	"postage/record"
)

// What is said of a way of packing: 500 bytes saved for 1000 ns are even at 4000 Mbit/s.
func TestPacked(t *testing.T) {
	row := func(name string, size float64, ratio *verdict.Interval) *verdict.Result {
		return &verdict.Result{
			Row: &record.Row{Contender: name}, NSOp: &verdict.Interval{Value: 1000}, Ratio: ratio,
			Metrics: map[string]float64{record.PackedBytes: size, record.ClientCPU: 1000},
		}
	}
	base := row("pack=none", 1000, nil)
	for _, test := range []struct {
		size  float64
		ratio verdict.Interval
		pays  string
	}{
		{500, verdict.Interval{Value: 2, Low: 1.5, High: 3}, "4,000 (2,000 to 8,000)"},
		{500, verdict.Interval{Value: 1.1, Low: 0.9, High: 1.5}, "at least 8,000"},
		{500, verdict.Interval{Value: 0.5, Low: 0.4, High: 0.6}, "always"},
		{1000, verdict.Interval{Value: 2, Low: 1.5, High: 3}, "never"},
		{1001, verdict.Interval{Value: 0.4, Low: 0.3, High: 0.5}, "never"},
		{0, verdict.Interval{Value: 2, Low: 1.5, High: 3}, "n/a"},
	} {
		r := row("pack=s2", test.size, &test.ratio)
		c := &verdict.CaseResult{Baseline: base, Rows: []*verdict.Result{base, r}}
		if got := paysText(c, r); got != test.pays {
			t.Errorf("%v: pays below %q, want %q", test.ratio, got, test.pays)
		}
		if got := paysText(c, base); got != "" {
			t.Errorf("the baseline pays below %q", got)
		}
	}
}
