package show

import (
	"math"
	"slices"
	"testing"

	"postage/internal/verdict"
	"postage/record"
)

// packedCase has rows of 1000 ns for the baseline of 1000 bytes; sizes and ratios are those of the
// others.
func packedCase(others ...[2]float64) *verdict.CaseResult {
	row := func(name string, role record.Role, size, ratio float64) *verdict.Result {
		r := &verdict.Result{
			Row: &record.Row{Contender: name, Role: role}, NSOp: &verdict.Interval{Value: 1000 * ratio},
			Metrics: map[string]float64{record.PackedBytes: size, record.ClientCPU: 1000 * ratio},
		}
		if role == record.RoleContender {
			r.Ratio = &verdict.Comparison{Interval: verdict.Interval{Value: ratio, Low: ratio - 0.5, High: ratio + 0.5}}
		}
		return r
	}
	c := &verdict.CaseResult{}
	c.Baseline = row("pack=none", record.RoleBaseline, 1000, 1)
	c.Rows = []*verdict.Result{c.Baseline}
	for i, o := range others {
		c.Rows = append(c.Rows, row(string(rune('a'+i)), record.RoleContender, o[0], o[1]))
	}
	return c
}

// A row that saves 500 bytes, 4000 bits, and takes 1000 ns more is even at 4 bits a nanosecond:
// 4000 Mbit/s.
func TestPaysBelow(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		size, ratio float64
		want        verdict.Interval
	}{
		{500, 2, verdict.Interval{Value: 4000, Low: 4000 / 1.5, High: 8000}},
		{500, 1.2, verdict.Interval{Value: 20000, Low: 4000 / 0.7, High: inf}},
		{500, 0.4, verdict.Interval{Value: inf, Low: inf, High: inf}},
		{1000, 2, verdict.Interval{}},
		{1001, 0.4, verdict.Interval{}},
	} {
		c := packedCase([2]float64{test.size, test.ratio})
		got, ok := paysBelow(c, c.Rows[1])
		near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-6*b }
		if !ok || !near(got.Value, test.want.Value) || !near(got.Low, test.want.Low) || !near(got.High, test.want.High) {
			t.Errorf("%v bytes in %v times the time: pays below %v %v, want %v", test.size, test.ratio, got, ok, test.want)
		}
	}
	c := packedCase([2]float64{500, 2})
	if _, ok := paysBelow(c, c.Baseline); ok {
		t.Error("the baseline pays against itself")
	}
	delete(c.Rows[1].Metrics, record.PackedBytes)
	if _, ok := paysBelow(c, c.Rows[1]); ok {
		t.Error("a row of no size pays")
	}
	if picksOf(c) != nil {
		t.Error("a case with one size has picks")
	}
}

// Picks are what a search over all bandwidths finds.
func TestPicks(t *testing.T) {
	for _, test := range []struct {
		others [][2]float64
		want   []string
	}{
		{[][2]float64{{500, 2}, {400, 8}, {600, 3}, {1100, 1.5}}, []string{"pack=none", "a", "b"}},
		{[][2]float64{{500, 2}, {490, 1.9}}, []string{"pack=none", "b"}},
		{[][2]float64{{1000, 2}}, []string{"pack=none"}},
		{[][2]float64{{900, 0.9}, {100, 0.9}}, []string{"b"}},
		{[][2]float64{{800, 1.2}, {600, 1.4}, {400, 1.6}}, []string{"pack=none", "c"}}, // all on one line
	} {
		c := packedCase(test.others...)
		var got []string
		picks := picksOf(c)
		for _, p := range picks {
			got = append(got, p.Row.Contender)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: picks %q, want %q", test.others, got, test.want)
		}
		for exponent := -2.0; exponent < 6; exponent += 0.0937 {
			mbit := math.Pow(10, exponent)
			takes := func(r *verdict.Result) float64 {
				cost, _ := sendCost(c, r)
				return cost.ns + cost.bits/mbit*1e3
			}
			best := math.Inf(1)
			for _, r := range c.Rows {
				best = min(best, takes(r))
			}
			at := picks[0]
			for _, p := range picks {
				if mbit < p.Below {
					at = p
				}
			}
			if got := takes(at.Result); got > best*(1+1e-9) {
				t.Errorf("%v: at %v Mbit/s %s takes %v ns, the best %v", test.others, mbit, at.Row.Contender, got, best)
			}
		}
	}
}
