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

// leftOut is which columns a row leaves to their DEFAULT; nil if none.
func leftOut(row []any) (columns []bool) {
	for i, v := range row {
		if isDefault(v) {
			if columns == nil {
				columns = make([]bool, len(row))
			}
			columns[i] = true
		}
	}
	return columns
}

// params is how many parameters a row has.
func (b *bind) params() int {
	n := len(b.session.enc.columns)
	for _, out := range b.out {
		if out {
			n--
		}
	}
	return n
}

// parameterColumn is the column of a row's i-th parameter.
func (b *bind) parameterColumn(i int) *column {
	for j := range b.session.enc.columns {
		if b.out != nil && b.out[j] {
			continue
		}
		if i == 0 {
			return &b.session.enc.columns[j]
		}
		i--
	}
	return nil
}

// keyParams says which of a row's parameters are its key. known is false if the row leaves a part
// of the key out.
func keyParams(isKey, out []bool) (params []bool, known bool) {
	if out == nil {
		return isKey, true
	}
	for i, is := range isKey {
		if !out[i] {
			params = append(params, is)
		} else if is {
			return nil, false
		}
	}
	return params, true
}
