package pgbulk

import (
	"errors"
	"iter"
)

// Rows is a source of rows: see [Values], [Slice], [Structs] and [Fallible]. It is run once for a
// call (but see Options.Retries), in the caller's goroutine. Each row is finished with before the
// next is asked for, so an iterator may yield the same slice again and again. If the iterator
// panics, the rows are undone and the call panics. It must not use the connection that is being
// written to.
type Rows struct {
	structs *structs // what they are, if they are structs
	again   bool     // it can be gone through more than once
	open    func(columns []string) (iter.Seq2[[]any, error], error)
}

// Values are rows as they are: a value for each of the table's columns, in their order. A value is
// anything that pgx encodes for the column's type; nil is NULL.
func Values(rows iter.Seq[[]any]) Rows {
	if rows == nil {
		return Fallible(nil)
	}
	return Fallible(func(yield func([]any, error) bool) {
		for r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	})
}

// Slice are rows that are all in memory.
func Slice(rows [][]any) Rows {
	return Fallible(func(yield func([]any, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}).Repeatable()
}

// Fallible are rows whose source may fail. An error that it yields ends the call with that error
// and all rows undone.
func Fallible(rows iter.Seq2[[]any, error]) Rows {
	return Rows{open: func([]string) (iter.Seq2[[]any, error], error) {
		if rows == nil {
			return nil, errNoSource
		}
		return rows, nil
	}}
}

var errNoSource = errors.New("no source of rows")
