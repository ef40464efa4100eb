package pgbulk

import (
	"context"
	"errors"
	"reflect"
)

// Writer takes rows one by one, where a program has no iterator to hand over: rows of a message
// queue, or of a file that is read elsewhere. It asks the server about the table once. Rows are
// sent as by [Insert] and the other calls, and Write does not keep a row after it returns: memory
// does not grow with the number of rows.
//
//	w, err := pgbulk.NewWriter[Account](ctx, pool, table, pgbulk.UpsertOptions{})
//	if err != nil { ... }
//	defer w.Close()
//	for account := range received {
//		if err := w.Write(ctx, account); err != nil { ... }
//	}
//	result, err := w.Flush(ctx)
//
// T is a struct or a pointer to one, as for [Structs], or []any, as for [Values]. A Writer keeps a
// connection for itself until Close, and between the first Write and the Flush a transaction is
// open on it. It is not for several goroutines at once.
type Writer[T any] struct {
	plan   *plan
	values func(row T) ([]any, error)
	call   *call // under way; nil if there is none
	ended  func(Result, error)
	before int   // rows of earlier calls
	err    error // why the Writer is of no more use
}

// NewWriter takes a connection and asks the server about the table. The options are those of the
// operation: [UpsertOptions] for what [Upsert] does. The error is an *Error.
func NewWriter[T any](ctx context.Context, db DB, t Table, o Options) (*Writer[T], error) {
	values, isValues := any(func(row []any) ([]any, error) { return row, nil }).(func(T) ([]any, error))
	var of *structs
	if !isValues {
		var err error
		if of, err = structsOf(reflect.TypeFor[T]()); err != nil {
			return nil, newError(string(o.settings().op), t.Name.Sanitize(), err)
		}
	}
	p, err := newPlan(ctx, db, t, of, o)
	if err != nil {
		return nil, err
	}
	if err = p.describe(ctx); err == nil && !isValues {
		if values, err = valuesOf[T](of, p.table.Columns); err != nil {
			err = p.error(err)
		}
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return &Writer[T]{plan: p, values: values}, nil
}

// errNotFlushed is the error of a call that Close cut short.
var errNotFlushed = errors.New("closed before its rows were flushed: they are not written")

// Write sends a row, or keeps it to be sent with others. After an error, nothing since the last
// Flush is written and all further calls return the same error. Its row number counts from the
// Writer's first row.
func (w *Writer[T]) Write(ctx context.Context, row T) error {
	if w.err != nil {
		return w.err
	}
	if w.call == nil {
		if err := ready(ctx, w.plan.conn); err != nil {
			w.err = w.plan.error(err)
			return w.err
		}
		_, w.ended = w.plan.traced(ctx)
		w.call = w.plan.start()
	} else if w.call.stream != nil {
		w.call.stream.watch(ctx)
	}
	values, err := w.values(row)
	if err == nil {
		err = w.call.take(ctx, values)
	} else {
		err = &rowError{row: w.call.n, err: err}
	}
	if s := w.call.stream; err != nil || s != nil && (s.unwatched() || s.stop.Load()) {
		_, err = w.finish(ctx, err)
	}
	return err
}

// Flush commits the rows since the last Flush, and says what became of them. In the caller's
// transaction it sends them, and the caller commits. Without rows it does nothing.
func (w *Writer[T]) Flush(ctx context.Context) (Result, error) {
	if w.err != nil || w.call == nil {
		return Result{}, w.err
	}
	if w.call.stream != nil {
		w.call.stream.watch(ctx)
	}
	return w.finish(ctx, nil)
}

// Close gives the connection back. Rows that were written since the last Flush are undone, which is
// its error. It may be called again.
func (w *Writer[T]) Close() error {
	var err error
	if w.call != nil {
		_, err = w.finish(context.Background(), errNotFlushed)
	}
	if w.err == nil || err != nil {
		w.err = errors.New("pgbulk: the Writer is closed")
	}
	if w.plan != nil {
		w.plan.release()
		w.plan = nil
	}
	return err
}

// finish ends the call under way.
func (w *Writer[T]) finish(ctx context.Context, failed error) (result Result, err error) {
	err = errNoEnd // as far as the tracer hears, if a function for returned rows panics
	call := w.call
	w.call = nil
	defer func() { w.ended(result, err) }()
	if result, err = call.finish(ctx, failed); err != nil {
		result = Result{}
		e := err.(*Error)
		for _, row := range []*int{&e.Row, &e.LastRow, &e.FirstRow} {
			if *row >= 0 {
				*row += w.before
			}
		}
		w.err = err
	}
	w.before += result.Rows
	return result, err
}
