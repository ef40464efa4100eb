package pgbulk

import (
	"errors"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Source is where rows come from: see [Structs], [Values], [Slice], [From] and [Fallible]. It is
// run once, in the caller's goroutine. Each row is finished with before the next is asked for, so
// an iterator may yield the same slice again and again. If it panics, the rows are undone and the
// call panics. It must not use the connection that is being written to.
type Source struct {
	structs *structs // what they are, if they are structs
	open    func(columns []string) (iter.Seq2[[]any, error], error)
}

// Values are rows as they are: a value for each of the table's columns, in their order. A value is
// anything that pgx encodes for the column's type; nil is NULL.
func Values(rows iter.Seq[[]any]) Source {
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
func Slice(rows [][]any) Source { return Values(slices.Values(rows)) }

// From are rows as pgx's CopyFrom takes them, such as a pgx.Rows of another connection, or
// pgx.CopyFromFunc's.
func From(rows pgx.CopyFromSource) Source {
	if rows == nil {
		return Fallible(nil)
	}
	return Fallible(func(yield func([]any, error) bool) {
		for rows.Next() {
			if values, err := rows.Values(); !yield(values, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	})
}

// Fallible are rows whose source may fail. An error that it yields ends the call with that error
// and all rows undone.
func Fallible(rows iter.Seq2[[]any, error]) Source {
	return Source{open: func([]string) (iter.Seq2[[]any, error], error) {
		if rows == nil {
			return nil, errNoSource
		}
		return rows, nil
	}}
}

var errNoSource = errors.New("no source of rows")
