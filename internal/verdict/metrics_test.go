package verdict_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/verdict"
)

// What contenders count themselves: what is the same in every block is exact, what is another by 5%
// is found, and of what only varies almost nothing is called changed. What was 0 is compared by its
// difference. A threshold gates a unit of which it is known which is better.
func TestMetrics(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	alarms, found, rows := 0, 0, 0
	for range 20 {
		rec := paired(rng, 2, 8, 0.005, nil)
		for i := range rec.Rows {
			rec.Rows[i].Properties = map[string]string{"better:exact": "higher", "better:more": "lower", "better:noise": "higher", "better:zero": "lower", "better:rare": "lower", "better:gain": "higher"}
		}
		for i := range rec.Blocks {
			for j := range rec.Blocks[i].Series {
				s := &rec.Blocks[i].Series[j]
				row := rec.Row(s.Row)
				old, n := row.OldOf != "", float64(row.N)
				s.Counters = map[string][]float64{}
				level := 100 * (1 + 0.01*rng.NormFloat64()) * n
				for range s.WallNS {
					exact, more, rare := 7.0, level, 0.001*level
					if old {
						exact, more, rare = 5, level/1.05, 0
					}
					s.Counters["exact"] = append(s.Counters["exact"], exact*n)
					s.Counters["more"] = append(s.Counters["more"], more)
					s.Counters["noise"] = append(s.Counters["noise"], level)
					s.Counters["zero"] = append(s.Counters["zero"], 0)
					s.Counters["rare"] = append(s.Counters["rare"], rare)
					s.Counters["gain"] = append(s.Counters["gain"], rare)
				}
			}
		}
		limits := verdict.DefaultThresholds()
		limits.Metrics = map[string]float64{"exact": 0, "more": 0.03, "noise": 0.2, "zero": 0, "rare": 0.05, "gain": 0}
		c := verdict.ComparePaired(rec, limits)
		outcomes := map[string]map[verdict.Outcome]int{}
		for i := range c.Rows {
			rows++
			for _, m := range c.Rows[i].Metrics {
				if outcomes[m.Unit] == nil {
					outcomes[m.Unit] = map[verdict.Outcome]int{}
				}
				outcomes[m.Unit][m.Outcome]++
				switch {
				case m.Unit == "exact" && (m.Verdict != verdict.Higher || m.Ratio.Low != m.Ratio.High || m.Old != 5 || m.New != 7):
					t.Errorf("%+v, %v", m, m.Ratio)
				case m.Unit == "zero" && (m.Verdict != verdict.Same || m.Ratio != nil):
					t.Errorf("%+v", m)
				case (m.Unit == "rare" || m.Unit == "gain") && (m.Verdict != verdict.Higher || m.Ratio != nil || math.Abs(m.Difference.Value-0.1) > 0.005):
					t.Errorf("%+v, %v", m, m.Difference)
				case m.Unit == "more" && m.Verdict == verdict.Higher:
					found++
				case m.Unit == "noise" && (m.Verdict == verdict.Higher || m.Verdict == verdict.Lower):
					alarms++
				}
			}
		}
		n := len(c.Rows)
		if outcomes["exact"][verdict.Passed] != n || outcomes["noise"][verdict.Passed] < n-1 || outcomes["zero"][verdict.Passed] != n || outcomes["rare"][verdict.Regressed] != n || outcomes["gain"][verdict.Passed] != n || outcomes["more"][verdict.Regressed] < n*8/10 {
			t.Errorf("%d rows: %v", n, outcomes)
		}
		// Nobody says which is better, and no row has the other.
		for i := range rec.Rows {
			rec.Rows[i].Properties = nil
		}
		for unit, want := range map[string]string{"exact": "nobody says which is better", "nowhere": "no row reports it"} {
			limits.Metrics = map[string]float64{unit: 0.01}
			if c := verdict.ComparePaired(rec, limits); c.Outcome() == verdict.Passed || !strings.Contains(strings.Join(c.Warnings, "\n"), want) {
				t.Errorf("%s: %s, %q", unit, c.Outcome(), c.Warnings)
			}
		}
	}
	if rows < 100 || found < rows*9/10 || alarms > rows/50 {
		t.Errorf("%d rows: 5%% more found in %d, alarms %d", rows, found, alarms)
	}
}
