package verdict

import (
	"fmt"
	"slices"
	"strings"

	"postage/record"
	"postage/stats"
)

// Suspects are the cases of the rows whose times regressed.
func (c *Changes) Suspects() []string {
	var cases []string
	for i := range c.Rows {
		if name := c.Rows[i].New.Row.Case; c.Rows[i].Time == Regressed && !slices.Contains(cases, name) {
			cases = append(cases, name)
		}
	}
	return cases
}

// Confirm compares once more, with blocks that were measured afresh of the suspects'
// cases: by themselves where the old revision took part, else with the old record. A row
// whose time regressed stays so only if it does by the fresh blocks alone; else it is
// inconclusive. No other row changes, as none was asked about again.
//
// That the rows are many has been corrected for when the suspects were found: each is judged by its
// own p-value here. What has no fresh blocks, or fewer than any finding takes, stays regressed.
func (c *Changes) Confirm(fresh *record.Record) {
	var again *Changes
	var unconfirmed []string
	needed := stats.BlocksFor(familyLevel)
	if IsAgainst(fresh) {
		again, needed = ComparePaired(fresh, c.Limits), stats.PairedBlocksFor(familyLevel)
	} else {
		again = CompareRecords(c.Old, fresh, c.Limits)
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		if row.Time != Regressed {
			continue
		}
		j := slices.IndexFunc(again.Rows, func(r Change) bool { return r.New.Row.Name == row.New.Row.Name })
		if j < 0 || again.Rows[j].New.Blocks < needed {
			unconfirmed = append(unconfirmed, row.New.Row.Name)
			continue
		}
		row.Fresh = &again.Rows[j]
		row.Fresh.P = row.Fresh.test.P
		row.Fresh.judge(c.Limits, Margin(fresh.Run.Precision))
		if row.Fresh.Time != Regressed {
			row.Time = Inconclusive
			row.conclude()
		}
	}
	if unconfirmed != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("not confirmed, and regressed all the same: %s: that takes %d fresh blocks", strings.Join(unconfirmed, ", "), needed))
	}
	slices.SortStableFunc(c.Rows, byImportance)
}
