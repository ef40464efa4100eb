package verdict_test

import (
	"math/rand/v2"
	"testing"

	"postage/internal/verdict"
)

// What contenders count themselves: what is the same in every block is exact, what is another by 5%
// is found, and of what only varies almost nothing is called changed.
func TestMetrics(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	alarms, found, rows := 0, 0, 0
	for range 20 {
		rec := paired(rng, 2, 8, 0.005, nil)
		for i := range rec.Blocks {
			for j := range rec.Blocks[i].Series {
				s := &rec.Blocks[i].Series[j]
				row := rec.Row(s.Row)
				old, n := row.OldOf != "", float64(row.N)
				s.Counters = map[string][]float64{}
				level := 100 * (1 + 0.01*rng.NormFloat64()) * n
				for range s.WallNS {
					exact, more := 7.0, level
					if old {
						exact, more = 5, level/1.05
					}
					s.Counters["exact"] = append(s.Counters["exact"], exact*n)
					s.Counters["more"] = append(s.Counters["more"], more)
					s.Counters["noise"] = append(s.Counters["noise"], level)
					s.Counters["zero"] = append(s.Counters["zero"], 0)
				}
			}
		}
		c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
		for i := range c.Rows {
			rows++
			for _, m := range c.Rows[i].Metrics {
				switch {
				case m.Unit == "exact" && (m.Verdict != verdict.Higher || m.Ratio.Low != m.Ratio.High || m.Old != 5 || m.New != 7):
					t.Errorf("%+v, %v", m, m.Ratio)
				case m.Unit == "zero" && (m.Verdict != verdict.Same || m.Ratio != nil):
					t.Errorf("%+v", m)
				case m.Unit == "more" && m.Verdict == verdict.Higher:
					found++
				case m.Unit == "noise" && (m.Verdict == verdict.Higher || m.Verdict == verdict.Lower):
					alarms++
				}
			}
		}
	}
	if rows < 100 || found < rows*9/10 || alarms > rows/50 {
		t.Errorf("%d rows: 5%% more found in %d, alarms %d", rows, found, alarms)
	}
}
