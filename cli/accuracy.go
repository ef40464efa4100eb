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
	turnsAlone     = 4
	plainFor       = 500 * time.Millisecond
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
		var row, base [][]lab.Turn
		for range processesAlone {
			r, b, err := conductor.Plain(cmd.Context(), entries[c.row.Row.Name], entries[c.baseline], rec, turnsAlone, plainFor)
			if err != nil {
				return err
			}
			row, base = append(row, r), append(base, b)
		}
		best := atBest(slices.Concat(row, base))
		sum.add(w, c.row, atFullSpeed(row, best), atFullSpeed(base, best))
	}
	fmt.Fprintln(w, sum)
	return nil
}

// atBest is what the witness takes where nothing slows it.
func atBest(processes [][]lab.Turn) float64 {
	best := math.Inf(1)
	for _, t := range slices.Concat(processes...) {
		best = min(best, t.Least)
	}
	return best
}

// atFullSpeed is what an operation takes in each process, in ns, if nothing slows the processor. By
// what power of the witness it is slowed shows where the turns of a process differ; where they do
// not, it is the usual one.
func atFullSpeed(processes [][]lab.Turn, best float64) (ns []float64) {
	const known = 0.2 // as if so much had been seen of the usual one
	up, along := known*stats.UsualPower, known
	var levels, slowed []float64
	for _, turns := range processes {
		var x, y []float64
		for _, t := range turns {
			x, y = append(x, math.Log(t.Witness/best)), append(y, math.Log(t.NS))
		}
		n := float64(len(turns) - 1)
		up, along = up+n*stat.Covariance(x, y, nil), along+n*stat.Variance(x, nil)
		levels, slowed = append(levels, stat.Mean(y, nil)), append(slowed, stat.Mean(x, nil))
	}
	for i, level := range levels {
		ns = append(ns, math.Exp(level-up/along*slowed[i]))
	}
	return ns
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

// add compares a row's ratio with that of the processes alone, in ns an operation. It is within 5%
// where both estimates are and the interval alone is as narrow; it is not where even that
// interval's nearer end is further away.
func (a *accurate) add(w io.Writer, r *verdict.Result, row, base []float64) {
	apart := make([]float64, len(row))
	for i := range row {
		apart[i] = math.Log(row[i] / base[i])
	}
	shift := stats.Paired(apart, 0.05)
	alone := verdict.Interval{Value: math.Exp(shift.Value), Low: math.Exp(shift.Low), High: math.Exp(shift.High)}
	a.all++
	switch off := math.Abs(math.Log(r.Ratio.Value / alone.Value)); {
	case r.Ratio.Value < alone.Low/1.05 || r.Ratio.Value > alone.High*1.05:
		a.far++
	case off < math.Log(1.05) && alone.High/alone.Low < 1.1:
		a.near++
	}
	mark := ""
	if r.Ratio.Low <= alone.High && alone.Low <= r.Ratio.High {
		a.agree++
		mark = ", agrees"
	}
	fmt.Fprintf(w, "%-52s %9.4g %9.4g  %-25s %s%s\n", r.Row.Name, r.NSOp.Value, stats.Median(row), report.RatioText(r.Ratio.Interval), report.RatioText(alone), mark)
}
