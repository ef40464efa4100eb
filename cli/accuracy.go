package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"postage/internal/proc"
	"postage/internal/report"
	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// A row and its baseline are measured alone in processesAlone pairs of processes, as one process
// may cost a tenth more than the next, in turns on each of two processors, as only these meet
// the same machine.
const (
	processesAlone = 6
	turnsAlone     = 16
	plainFor       = 125 * time.Millisecond
)

// accuracy measures the costs of a record's rows again, each alone in a plain process, and prints
// whether the record's intervals contain them.
func (p program) accuracy(cmd *cobra.Command, file string) error {
	rec, err := record.Load(file)
	if err != nil {
		return err
	}
	if rec.Run.World == nil {
		return hinted(fmt.Errorf("%s: no row's quantity is its cost, in a stated world", file), "`postage run` makes such records")
	}
	all, err := p.entries()
	if err != nil {
		return err
	}
	command, err := proc.Self("worker")
	if err != nil {
		return err
	}
	entries := map[string]lab.Entry{}
	for _, e := range all {
		entries[e.Row()] = e
	}
	checks := slices.DeleteFunc(costed(rec), func(c check) bool { return entries[c.row.Row.Name].Contender.Name == "" })
	if len(checks) == 0 {
		return hinted(fmt.Errorf("%s: no row has an interval to be checked", file), "`postage run --resume` with a larger --budget measures more blocks")
	}
	say(cmd, "%d rows alone and their baselines, %d processes each, %d turns of %v", len(checks), processesAlone, turnsAlone, plainFor)
	w, conductor := cmd.OutOrStdout(), lab.Conductor{Command: command}
	fmt.Fprintf(w, "%-52s %9s %9s  %-25s %s\n", "", "cost", "alone", "ratio (95% interval)", "alone (95% interval)")
	var sum accurate
	for _, c := range checks {
		var row, base []alone
		for range processesAlone {
			r, b, err := conductor.Plain(cmd.Context(), entries[c.row.Row.Name], entries[c.baseline], rec, turnsAlone, plainFor)
			if err != nil {
				return err
			}
			row, base = append(row, alone(r)), append(base, alone(b))
		}
		sum.add(w, c.row, row, base)
	}
	fmt.Fprintln(w, sum)
	return nil
}

// alone are the turns of a process of a row by itself.
type alone [][]lab.Part

// atBest is what the witness takes where nothing slows it.
func atBest(processes ...alone) float64 {
	best := math.Inf(1)
	for _, parts := range slices.Concat(processes...) {
		best = min(best, lab.AtBest(parts))
	}
	return best
}

// atFullSpeed are the logarithms of what an operation of a row and of its baseline takes, in ns,
// where the witness takes best: if nothing slows the processor.
func atFullSpeed(row, base []alone, best float64) (levels [2]float64) {
	var slowed [2]float64
	means, parts := make([]stats.Slope, 2), make([]stats.Slope, 2)
	for side, processes := range [][]alone{row, base} {
		for _, process := range processes {
			var witness, ns []float64
			var of stats.Slope
			for _, turn := range process {
				about, took := lab.Means(turn)
				witness, ns, of = append(witness, math.Log(about/best)), append(ns, math.Log(took)), of.Plus(lab.Slope(turn))
			}
			means[side], parts[side] = means[side].Plus(stats.NewSlope(witness, ns)), parts[side].Plus(of.OfProcess(false))
			slowed[side] += stat.Mean(witness, nil) / float64(len(processes))
			levels[side] += stat.Mean(ns, nil) / float64(len(processes))
		}
	}
	for side, power := range stats.Powers(means, parts) {
		levels[side] -= power * slowed[side]
	}
	return levels
}

// apart are by how much the logarithm of what a row takes lies above its baseline's at full speed,
// one a pair of processes, with what that moves the powers (jackknife).
func apart(row, base []alone) (values []float64) {
	best, n := atBest(slices.Concat(row, base)...), float64(len(row))
	all := atFullSpeed(row, base, best)
	for i := range row {
		less := atFullSpeed(slices.Delete(slices.Clone(row), i, i+1), slices.Delete(slices.Clone(base), i, i+1), best)
		values = append(values, n*(all[0]-all[1])-(n-1)*(less[0]-less[1]))
	}
	return values
}

// check is a row whose ratio a record has.
type check struct {
	row      *verdict.Result
	baseline string
}

// costed are a record's rows that have a ratio of costs, and its interval.
func costed(rec *record.Record) (checks []check) {
	for _, c := range verdict.Analyze(rec).Cases {
		for _, r := range c.Rows {
			if r.CodeOp != nil && r.Ratio != nil && r.Ratio.Bounded() && r != c.Control && c.Baseline != nil {
				checks = append(checks, check{r, c.Baseline.Row.Name})
			}
		}
	}
	return checks
}

// accurate counts how the ratios of a record stand to those of the rows alone.
type accurate struct{ all, agree, near, far int }

func (a accurate) String() string {
	return fmt.Sprintf("%d of %d ratios agree within both intervals; %d are within 5%%, %d are not, and of %d the intervals are too wide to tell",
		a.agree, a.all, a.near, a.far, a.all-a.near-a.far)
}

// add compares a row's ratio with that of the processes alone. It is within 5% where both estimates
// are and the interval alone is as narrow; it is not where even that interval's nearer end is
// further away.
func (a *accurate) add(w io.Writer, r *verdict.Result, row, base []alone) {
	shift := stats.Paired(apart(row, base), 0.05)
	by := verdict.Interval{Value: math.Exp(shift.Value), Low: math.Exp(shift.Low), High: math.Exp(shift.High)}
	a.all++
	switch off := math.Abs(math.Log(r.Ratio.Value / by.Value)); {
	case r.Ratio.Value < by.Low/1.05 || r.Ratio.Value > by.High*1.05:
		a.far++
	case off < math.Log(1.05) && by.High/by.Low < 1.1:
		a.near++
	}
	mark := ""
	if r.Ratio.Low <= by.High && by.Low <= r.Ratio.High {
		a.agree++
		mark = ", agrees"
	}
	fmt.Fprintf(w, "%-52s %9.4g %9.4g  %-25s %s%s\n", r.Row.Name, r.NSOp.Value, math.Exp(atFullSpeed(row, base, atBest(slices.Concat(row, base)...))[0]), report.RatioText(r.Ratio.Interval), report.RatioText(by), mark)
}
