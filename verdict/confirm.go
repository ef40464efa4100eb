package verdict

import (
	"slices"

	"postage/record"
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
func (c *Changes) Confirm(fresh *record.Record) {
	var again *Changes
	if IsAgainst(fresh) {
		again = ComparePaired(fresh, c.Limits)
	} else {
		again = CompareRecords(c.Old, fresh, c.Limits)
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		if row.Time != Regressed {
			continue
		}
		j := slices.IndexFunc(again.Rows, func(r Change) bool { return r.New.Row.Name == row.New.Row.Name })
		if j >= 0 {
			row.Fresh = &again.Rows[j]
		}
		if j < 0 || row.Fresh.Time != Regressed {
			row.Time = Inconclusive
			row.conclude()
		}
	}
	slices.SortStableFunc(c.Rows, byImportance)
}
