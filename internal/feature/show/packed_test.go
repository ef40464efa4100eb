package show

import (
	"testing"

	"postage/internal/verdict"
	"postage/record"
)

// What is said of a way of packing: 500 bytes saved for 1000 ns are even at 4000 Mbit/s.
func TestPacked(t *testing.T) {
	row := func(name string, size float64, ratio *verdict.Comparison) *verdict.Result {
		return &verdict.Result{
			Row: &record.Row{Contender: name}, NSOp: &verdict.Interval{Value: 1000}, Ratio: ratio,
			Metrics: map[string]float64{record.PackedBytes: size, record.ClientCPU: 1000},
		}
	}
	comparison := func(ratio, low, high float64) verdict.Comparison {
		return verdict.Comparison{Interval: verdict.Interval{Value: ratio, Low: low, High: high}}
	}
	base := row("pack=none", 1000, nil)
	for _, test := range []struct {
		size  float64
		ratio verdict.Comparison
		pays  string
	}{
		{500, comparison(2, 1.5, 3), "4,000 (2,000 to 8,000)"},
		{500, comparison(1.1, 0.9, 1.5), "at least 8,000"},
		{500, comparison(0.5, 0.4, 0.6), "always"},
		{1000, comparison(2, 1.5, 3), "never"},
		{1001, comparison(0.4, 0.3, 0.5), "never"},
		{0, comparison(2, 1.5, 3), "n/a"},
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
