package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/proc"
	"postage/record"
	"postage/stats"
	"postage/verdict"
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
	results := map[string]*verdict.Result{}
	for _, c := range verdict.Analyze(rec).Cases {
		for _, r := range c.Rows {
			if r.CodeOp != nil && r != c.Control {
				results[r.Row.Name] = r
			}
		}
	}
	entries := slices.DeleteFunc(all, func(e lab.Entry) bool { return results[e.Row()] == nil })
	command, err := proc.Self("worker")
	if err != nil {
		return err
	}
	say(cmd, "postage: %d rows alone, %d turns of %v each", len(entries), turnsOfAccuracy, plainFor)
	c := lab.Conductor{Command: command}
	figures, err := c.Plain(cmd.Context(), entries, rec, turnsOfAccuracy, plainFor)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	within, near := 0, 0
	fmt.Fprintf(w, "%-60s %12s %24s %12s %9s\n", "cost ns/op", "record", "interval", "alone", "off by")
	for _, e := range entries {
		r, alone := results[e.Row()], stats.Median(figures[e.Row()])
		spread := slices.Sorted(slices.Values(figures[e.Row()]))
		off := r.NSOp.Value/alone - 1
		mark := ""
		if r.NSOp.Low <= spread[len(spread)-1] && spread[0] <= r.NSOp.High {
			within, mark = within+1, "  within both intervals"
		}
		if off > -0.05 && off < 0.05 {
			near++
		}
		fmt.Fprintf(w, "%-60s %12.4g %24s %12.4g %+8.1f%%%s\n", e.Row(), r.NSOp.Value, fmt.Sprintf("%.4g to %.4g", r.NSOp.Low, r.NSOp.High), alone, 100*off, mark)
	}
	fmt.Fprintf(w, "%d of %d within both intervals, %d within 5%%\n", within, len(entries), near)
	return nil
}
