package pgbulk

import (
	"errors"
	"strings"
)

// checkUnchanged refuses SkipUnchanged where it would not do what it says.
func (o *Options) checkUnchanged(op Operation) error {
	switch {
	case !o.SkipUnchanged:
		return nil
	case op.byKey() || o.Conflict != DoUpdate:
		return errors.New("Options.SkipUnchanged works only with Conflict DoUpdate")
	case len(o.SetTo) > 0:
		return errors.New("Options.SkipUnchanged and SetTo exclude each other, as expressions are not compared: use Where")
	}
	return nil
}

// fillWhere adds the condition that a row of the table is not already as the row of the call would
// make it.
//
// It compares bytes (*<> of two records,
// https://www.postgresql.org/docs/current/functions-comparisons.html#COMPOSITE-TYPE-COMPARISON) and
// not values: that works for every type, json too, and values that are equal but not the same, such
// as 1.0 and 1.00, are written.
func (o *Options) fillWhere() {
	if !o.SkipUnchanged || len(o.Set) == 0 {
		return
	}
	of := func(row string) string {
		columns := make([]string, len(o.Set))
		for i, c := range o.Set {
			columns[i] = row + "." + quote(c)
		}
		return "row(" + strings.Join(columns, ", ") + ")::record" // without the cast it would be a comparison column by column
	}
	changed := SQL(of("t") + " operator(pg_catalog.*<>) " + of("excluded"))
	if o.Where != "" {
		changed = "(" + o.Where + ") and " + changed
	}
	o.Where = changed
}
