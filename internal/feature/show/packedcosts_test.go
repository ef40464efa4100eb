package show

import (
	"math"
	"slices"
	"testing"

	"postage/internal/verdict"
	"postage/record"
)

// packedCase has a baseline of 1000 bytes that takes 1000 ns, and others by their sizes and ratios.
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

// Without the sizes and times of both rows it is not known below what bandwidth a row pays.
func TestPaysUnknown(t *testing.T) {
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
