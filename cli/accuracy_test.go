package cli

import (
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"postage/internal/recordtest"
	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// undisturbed are processes of one turn each, on a processor that nothing slows.
func undisturbed(ns ...float64) (processes []alone) {
	for _, v := range ns {
		processes = append(processes, alone{{{NS: v, Witness: 100, Least: 100}}})
	}
	return processes
}

// A ratio is within 5% of what a row costs alone only where that is known as well.
func TestAccurate(t *testing.T) {
	base := undisturbed(100, 101, 99, 100, 102, 98, 100, 100)
	steady := undisturbed(200, 202, 198, 200, 204, 196, 200, 200)
	loose := undisturbed(150, 260, 210, 140, 280, 190, 170, 230)
	for _, c := range []struct {
		name  string
		ratio verdict.Interval
		alone []alone
		want  accurate
	}{
		{"true", verdict.Interval{Value: 2.02, Low: 1.98, High: 2.06}, steady, accurate{1, 1, 1, 0}},
		{"near, and surer than it is", verdict.Interval{Value: 2.06, Low: 2.05, High: 2.07}, steady, accurate{1, 0, 1, 0}},
		{"wrong", verdict.Interval{Value: 2.2, Low: 2.1, High: 2.3}, steady, accurate{1, 0, 0, 1}},
		{"not known alone", verdict.Interval{Value: 2.02, Low: 1.98, High: 2.06}, loose, accurate{1, 1, 0, 0}},
	} {
		var got accurate
		row := &verdict.Result{Row: &record.Row{Name: c.name}, NSOp: &verdict.Interval{Value: 200}, Ratio: &verdict.Comparison{Interval: c.ratio}}
		if got.add(io.Discard, row, c.alone, base); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// slowedTurns are those of six processes, of 100 parts each. Others slow the processor to half in
// some of them, more in one turn than in the next, a row by that power of what they slow the
// witness by, which only knows of three quarters of the parts whether they were slowed. A part that
// meets a collection takes twice as long.
func slowedTurns(rng *rand.Rand, ns, power float64) (processes []alone) {
	for range processesAlone {
		var process alone
		for range turnsAlone {
			var turn []lab.Part
			for share := rng.Float64(); len(turn) < 100; {
				slow, seen := rng.Float64() < share, rng.Float64() < share
				if rng.Float64() < 0.75 {
					seen = slow
				}
				p := lab.Part{NS: ns * math.Exp(0.1*rng.NormFloat64()), Witness: 100, Least: 100}
				if slow {
					p.NS *= math.Pow(2, power)
				}
				if seen {
					p.Witness *= 2
				}
				if rng.Float64() < 0.2 {
					p.NS *= 2
				}
				turn = append(turn, p)
			}
			process = append(process, turn)
		}
		processes = append(processes, process)
	}
	return processes
}

// What a row costs alone is as true, and known as well as it says, where others slow the processor
// and a row is slowed less or more than its baseline.
func TestAloneWhereOthersSlowTheProcessor(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 5))
	const checks, ratio = 50, 2.0
	for _, power := range []float64{0.4, 0.7, 0.85, 1} {
		missed, off, squares := 0, 0.0, 0.0
		for range checks {
			by := stats.Paired(apart(slowedTurns(rng, 100*ratio, power), slowedTurns(rng, 100, stats.UsualPower)), 0.05)
			off += (by.Value - math.Log(ratio)) / checks
			squares += math.Pow(by.Value-math.Log(ratio), 2) / checks
			if math.Log(ratio) < by.Low || math.Log(ratio) > by.High {
				missed++
			}
		}
		if t.Logf("power %v: off by %.3f, ±%.1f%%, %d of %d missed", power, off, 100*math.Sqrt(squares), missed, checks); missed > checks/5 || math.Abs(off) > 0.02 {
			t.Errorf("slowed by the power of %v: off by %.3f, %d of %d intervals miss what is known", power, off, missed, checks)
		}
	}
}

// A ratio without an interval agrees with anything: it is not checked.
func TestAccuracyChecksIntervals(t *testing.T) {
	for blocks, want := range map[int]bool{3: false, 10: true} {
		r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 3)), Cases: 1, Blocks: blocks}
		rec := r.Record()
		for i := range rec.Rows {
			rec.Rows[i].Value = record.ValueCost
		}
		if checks := costed(rec); len(checks) > 0 != want {
			t.Errorf("%d blocks: %d rows are checked", blocks, len(checks))
		}
	}
}
