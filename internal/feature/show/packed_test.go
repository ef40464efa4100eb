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
	of := func(ratio, low, high float64) verdict.Comparison {
		return verdict.Comparison{Interval: verdict.Interval{Value: ratio, Low: low, High: high}}
	}
	base := row("pack=none", 1000, nil)
	for _, test := range []struct {
		size         float64
		ratio        verdict.Comparison
		pays, answer string
	}{
		{500, of(2, 1.5, 3), "4,000 (2,000 to 8,000)", "none is best above 4 Gbit/s, s2 below that (500 bytes)"},
		{500, of(1.1, 0.9, 1.5), "at least 8,000", "none is best above 40 Gbit/s, s2 below that (500 bytes)"},
		{500, of(0.5, 0.4, 0.6), "always", "s2 is best at every bandwidth"},
		{1000, of(2, 1.5, 3), "never", "none is best at every bandwidth"},
		{1001, of(0.4, 0.3, 0.5), "never", "s2 is best above 13.3 Mbit/s, none below that (1,000 bytes)"},
	} {
		r := row("pack=s2", test.size, &test.ratio)
		c := &verdict.CaseResult{Baseline: base, Rows: []*verdict.Result{base, r}}
		if got := paysText(c, r); got != test.pays {
			t.Errorf("%v: pays below %q, want %q", test.ratio, got, test.pays)
		}
		if got := packed(picksOf(c)); got != test.answer {
			t.Errorf("%v: %q, want %q", test.ratio, got, test.answer)
		}
		if got := paysText(c, base); got != "" {
			t.Errorf("the baseline pays below %q", got)
		}
	}
}
