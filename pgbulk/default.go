package pgbulk

import (
	"errors"
	"slices"
)

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

var errDefault = errors.New("pgbulk.Default works only where rows are inserted, and only with Bind: set Options.Strategy to Bind")

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

// leaveOut keeps to one chunk only rows that leave out the same columns. If row leaves out others,
// what is in the chunk is sent.
func (w *writer) leaveOut(row []any) error {
	if w.strategy == Copy {
		return nil // an error when it is encoded
	}
	out := leftOut(row)
	if slices.Equal(out, w.out) {
		return nil
	}
	if w.op.byKey() {
		return &rowError{w.n, w.columns[slices.Index(out, true)].name, errDefault}
	}
	if w.strategy == Auto {
		w.strategy = Bind
	}
	if w.chunk.rows() > 0 {
		if err := w.settleKeys(); err != nil {
			return err
		}
		if err := w.bindChunk(); err != nil {
			return err
		}
		w.chunk.reset(w.n)
	}
	w.mixed = w.mixed || len(w.sent) > 0
	w.out, w.parsed, w.omits = out, 0, out != nil
	w.sign()
	return nil
}

// sign settles the types and formats of the parameters of a row.
func (w *writer) sign() {
	w.types, w.formats = w.types[:0], w.formats[:0]
	for i, c := range w.columns {
		if w.out == nil || !w.out[i] {
			w.types = append(w.types, c.oid)
			w.formats = append(w.formats, byte(c.format))
		}
	}
}

// params is how many parameters a row has.
func (w *writer) params() int {
	n := len(w.columns)
	for _, out := range w.out {
		if out {
			n--
		}
	}
	return n
}

// parameterColumn is the column of a row's i-th parameter.
func (w *writer) parameterColumn(i int) *column {
	for j := range w.columns {
		if w.out != nil && w.out[j] {
			continue
		}
		if i == 0 {
			return &w.columns[j]
		}
		i--
	}
	return nil
}

// keyParams says which of a row's parameters are its key. known is false if a part of the key is
// left out.
func (w *writer) keyParams() (isKey []bool, known bool) {
	if w.out == nil {
		return w.isKey, true
	}
	for i, is := range w.isKey {
		if !w.out[i] {
			isKey = append(isKey, is)
		} else if is {
			return nil, false
		}
	}
	return isKey, true
}
