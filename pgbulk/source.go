package pgbulk

import (
	"errors"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Source is where rows come from: see [Structs], [Values], [Slice] and [From]. A call
// runs it once, in the caller's goroutine. Each row is finished with before the next is asked for,
// so an iterator may yield the same slice again and again. If it panics, the rows are undone and the
// call panics. It must not use the connection that is being written to.
//
// A failed call has taken rows of its source: make the source anew for the next try, unless it is an
// iterator that begins again, such as slices.Values. A source of From, or one that has no rows left,
// is an error after a failed call.
type Source struct {
	structs *structs // what they are, if they are structs
	err     error    // why they cannot be
	open    func(columns []string) (iter.Seq2[[]any, error], error)
	once    bool         // it never begins again
	taken   *atomic.Bool // it has given rows to a call that has not succeeded
}

func newSource(open func(columns []string) (iter.Seq2[[]any, error], error)) Source {
	return Source{open: open, taken: new(atomic.Bool)}
}

// run gives the rows of an opened source, or an error if a failed call has taken them.
func (s Source) run(rows iter.Seq2[[]any, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		before, empty := s.taken.Load(), true
		if before && s.once {
			yield(nil, errSpent)
			return
		}
		for row, err := range rows {
			if empty {
				empty = false
				s.taken.Store(true)
			}
			if !yield(row, err) {
				return
			}
		}
		if before && empty {
			yield(nil, errSpent)
		}
	}
}

var errSpent = errors.New("the source is spent: a failed call has taken its rows, so make it anew for each try")

// Values are rows as they are: a value for each of the table's columns, in their order. A value is
// anything that pgx encodes for the column's type; nil is NULL.
func Values(rows iter.Seq[[]any]) Source {
	if rows == nil {
		return Source{}
	}
	return fallible(func(yield func([]any, error) bool) {
		for r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	})
}

// Slice are rows that are all in memory.
func Slice(rows [][]any) Source { return Values(slices.Values(rows)) }

// From are rows as pgx's CopyFrom takes them, such as a pgx.Rows of another connection. A value of
// a pgx.Rows goes to a column of its own type as the server sent it, without being decoded. Rows
// that cannot be read may be an error: give a pgx.CopyFromFunc that returns it. The call then fails
// with that error, and all rows are undone.
func From(rows pgx.CopyFromSource) Source {
	if rows == nil {
		return Source{}
	}
	source := fallible(func(yield func([]any, error) bool) {
		for rows.Next() {
			if values, err := valuesOfRow(rows); !yield(values, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	})
	source.once = true
	return source
}

// fallible are rows whose source may fail.
func fallible(rows iter.Seq2[[]any, error]) Source {
	return newSource(func([]string) (iter.Seq2[[]any, error], error) { return rows, nil })
}

var errNoSource = errors.New("no source of rows")
