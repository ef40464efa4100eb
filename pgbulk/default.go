package pgbulk

import "errors"

// Default, as a value of a row, leaves the column to its DEFAULT in that row:
//
//	pgbulk.Slice([][]any{{1, "given"}, {2, pgbulk.Default}})
//
// It works for calls that insert, with Bind, and with Unnest, which sends such rows as Bind does.
// COPY cannot express it: Auto takes Bind if it sees a Default in time, which for Insert means
// before it copies (see Auto); later it is an error that names the row. A row that leaves out other
// columns than the row before begins another statement. A column that is to have its DEFAULT in all
// rows is better left out of Table.Columns.
var Default defaultMark

type defaultMark struct{}

func isDefault(v any) bool {
	_, ok := v.(defaultMark)
	return ok
}

var errDefault = errors.New("pgbulk.Default works only where rows are inserted, and only with Bind: set Strategy to Bind")

// defaults says which columns a row leaves to their DEFAULT; nil if none.
type defaults []bool

func defaultsOf(row []any) (d defaults) {
	for i, v := range row {
		if isDefault(v) {
			if d == nil {
				d = make(defaults, len(row))
			}
			d[i] = true
		}
	}
	return d
}

// given lists the columns that a row has values for, out of n.
func (d defaults) given(n int) []int {
	columns := make([]int, 0, n)
	for i := range n {
		if d == nil || !d[i] {
			columns = append(columns, i)
		}
	}
	return columns
}

// keyParams says which of a row's parameters are its key. known is false if the row leaves a part
// of the key out.
func (d defaults) keyParams(isKey []bool) (params []bool, known bool) {
	if d == nil {
		return isKey, true
	}
	for i, is := range isKey {
		if !d[i] {
			params = append(params, is)
		} else if is {
			return nil, false
		}
	}
	return params, true
}
