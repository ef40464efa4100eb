package pgbulk

import (
	"context"
	"errors"
	"iter"
)

// Writer takes rows one by one, where a program has no iterator to hand over: rows of a message
// queue, or of a file that is read elsewhere. It asks the server about the table once. Rows are
// sent as by [Insert] and the other calls, and Write does not keep a row after it returns: memory
// does not grow with the number of rows.
//
//	w, err := pgbulk.NewWriter[Account](ctx, pool, pgbulk.OpUpsert, table, pgbulk.WriterOptions{CommitEvery: 10_000})
//	if err != nil { ... }
//	defer w.Close()
//	for account := range received {
//		if err := w.Write(account); err != nil { ... }
//	}
//	return w.Flush()
//
// T is a struct or a pointer to one, as for [Structs], or []any, as for [Values]. A Writer keeps a
// connection for itself until Close, and between the first Write and the Flush a transaction is
// open on it. It is not for several goroutines at once.
type Writer[T any] struct {
	ctx    context.Context
	plan   *plan
	every  int
	resume func() (struct{}, bool) // the call under way, as a coroutine that has a turn for each row; nil if there is none
	stop   func()
	row    T // for the next turn
	n      int
	ended  bool // there are no more rows in this call
	result Result
	failed error // of the call
	err    error // why the Writer is of no more use
	total  Result
}

// WriterOptions are the settings of a Writer.
type WriterOptions struct {
	Options
	// CommitEvery is after how many rows Write commits; 0 means that only Flush does. It is refused
	// in the caller's transaction, which only the caller can commit.
	CommitEvery int
}

// NewWriter takes a connection and asks the server about the table. ctx applies to all that the
// Writer does. The error is an *Error.
func NewWriter[T any](ctx context.Context, db DB, op Operation, t Table, o WriterOptions) (*Writer[T], error) {
	w := &Writer[T]{ctx: ctx, every: o.CommitEvery}
	p, err := newPlan(ctx, db, op, t, rowsOf[T](nil), o.Options)
	if err != nil {
		return nil, err
	}
	switch {
	case o.CommitEvery < 0:
		err = p.error(errors.New("CommitEvery is negative"))
	case o.CommitEvery > 0 && p.conn.PgConn().TxStatus() != 'I':
		err = p.error(errors.New("CommitEvery does not work in the caller's transaction, which the Writer cannot commit"))
	default:
		err = p.describe(ctx)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	w.plan = p
	return w, nil
}

// rowsOf is a source of rows of whatever type a Writer takes.
func rowsOf[T any](rows iter.Seq[T]) Rows {
	if values, ok := any(rows).(iter.Seq[[]any]); ok {
		return Values(values)
	}
	return Structs(rows)
}

// errNotFlushed is the error of a call that Close cut short.
var errNotFlushed = errors.New("closed before it was flushed")

// Write sends a row, or keeps it to be sent with others. After an error, nothing since the last
// commit is written and all further calls return the same error. Its row number counts from the
// Writer's first row.
func (w *Writer[T]) Write(row T) error {
	if w.err != nil {
		return w.err
	}
	w.row = row
	if w.resume == nil {
		w.begin()
	}
	_, running := w.resume()
	var none T
	w.row = none
	if !running {
		return w.finish()
	}
	if w.n++; w.every > 0 && w.n >= w.every {
		return w.Flush()
	}
	return nil
}

// Flush commits the rows since the last commit. In the caller's transaction it sends them, and the
// caller commits. Without rows it does nothing.
func (w *Writer[T]) Flush() error {
	if w.err != nil || w.resume == nil {
		return w.err
	}
	w.ended = true
	w.resume()
	return w.finish()
}

// Committed is the total of what Flush and CommitEvery have committed: after an error, where to
// resume.
func (w *Writer[T]) Committed() Result { return w.total }

// Close gives the connection back. Rows that were written since the last Flush or commit are
// undone; after Flush there are none. It may be called again.
func (w *Writer[T]) Close() {
	if w.resume != nil {
		w.stop()
		w.resume = nil
	}
	if w.plan != nil {
		w.plan.release()
		w.plan = nil
	}
	if w.err == nil {
		w.err = errors.New("pgbulk: the Writer is closed")
	}
}

// begin has a call ask for its first row.
func (w *Writer[T]) begin() {
	w.n, w.ended, w.result, w.failed = 0, false, Result{}, errNoEnd
	w.resume, w.stop = iter.Pull(func(pause func(struct{}) bool) {
		if w.failed = ready(w.ctx, w.plan.conn); w.failed != nil {
			w.failed = w.plan.error(w.failed)
			return
		}
		w.failed = errNoEnd // if a value's encoding panics
		w.result, w.failed = w.plan.traced(w.ctx, func(ctx context.Context) (Result, error) { return w.plan.send(ctx, w.rows(pause)) })
	})
	w.resume()
}

// rows are those of one call. Its end is the end of the call, or if Close came first an error,
// which undoes it.
func (w *Writer[T]) rows(pause func(struct{}) bool) Rows {
	stopped := false
	pushed := rowsOf(func(yield func(T) bool) {
		for {
			if stopped = !pause(struct{}{}); stopped || w.ended || !yield(w.row) {
				return
			}
		}
	})
	return Rows{structs: pushed.structs, open: func(columns []string) (iter.Seq2[[]any, error], error) {
		rows, err := pushed.open(columns)
		return func(yield func([]any, error) bool) {
			for row, err := range rows {
				if !yield(row, err) {
					return
				}
			}
			if stopped {
				yield(nil, errNotFlushed)
			}
		}, err
	}}
}

// finish takes note of how a call went.
func (w *Writer[T]) finish() error {
	w.stop()
	w.resume = nil
	if w.failed != nil {
		w.err = w.failed
		if e, ok := errors.AsType[*Error](w.err); ok {
			for _, row := range []*int{&e.Row, &e.LastRow, &e.FirstRow} {
				if *row >= 0 {
					*row += w.total.Rows
				}
			}
		}
		return w.err
	}
	w.total.Rows += w.result.Rows
	w.total.Affected += w.result.Affected
	w.total.Strategy = w.result.Strategy
	w.plan.kept = true
	return nil
}
