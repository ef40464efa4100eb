package cli

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/proc"
	"postage/internal/report"
	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// turnsOfAccuracy are how often each row is measured alone, for plainFor a turn.
const (
	turnsOfAccuracy = 5
	plainFor        = time.Second
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
	results, baselines := map[string]*verdict.Result{}, map[string]string{}
	for _, c := range verdict.Analyze(rec).Cases {
		for _, r := range c.Rows {
			if r.CodeOp != nil && r != c.Control && c.Baseline != nil {
				results[r.Row.Name], baselines[r.Row.Name] = r, c.Baseline.Row.Name
			}
		}
	}
	entries := slices.DeleteFunc(all, func(e lab.Entry) bool { return results[e.Row()] == nil })
	command, err := proc.Self("worker")
	if err != nil {
		return err
	}
	say(cmd, "%d rows alone, %d turns of %v each", len(entries), turnsOfAccuracy, plainFor)
	c := lab.Conductor{Command: command}
	figures, err := c.Plain(cmd.Context(), entries, rec, turnsOfAccuracy, plainFor)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	within, near, of := 0, 0, 0
	fmt.Fprintf(w, "%-52s %9s %9s  %-25s %s\n", "", "cost", "alone", "ratio (95% interval)", "alone (its turns)")
	for _, e := range entries {
		r, alone := results[e.Row()], figures[e.Row()]
		fmt.Fprintf(w, "%-52s %9.4g %9.4g  ", e.Row(), r.NSOp.Value, stats.Median(alone))
		if r.Ratio == nil {
			fmt.Fprintln(w, 1)
			continue
		}
		// What slows the machine as a whole slows the baseline's turn too.
		var ratios []float64
		for turn, ns := range alone {
			ratios = append(ratios, ns/figures[baselines[e.Row()]][turn])
		}
		slices.Sort(ratios)
		of++
		mark := ""
		if r.Ratio.Low <= ratios[len(ratios)-1] && ratios[0] <= r.Ratio.High {
			within, mark = within+1, ", agrees"
		}
		middle := stats.Median(ratios)
		if math.Abs(r.Ratio.Value/middle-1) < 0.05 {
			near++
		}
		fmt.Fprintf(w, "%-25s %.3g (%.3g to %.3g)%s\n", report.RatioText(r.Ratio.Interval), middle, ratios[0], ratios[len(ratios)-1], mark)
	}
	fmt.Fprintf(w, "%d of %d ratios agree within both intervals, %d within 5%%\n", within, of, near)
	return nil
}
