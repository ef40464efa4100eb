package pgbulk

import (
	"errors"
	"iter"
)

// Writer takes rows one by one, where a program has no iterator to hand over: rows of a message
// queue, or of a file that is read elsewhere. It hands them to a call as they come, so that memory
// does not grow with their number.
//
//	w := pgbulk.NewWriter(func(rows iter.Seq[Account]) (pgbulk.Result, error) {
//		return pgbulk.Upsert(ctx, pool, table, pgbulk.Structs(rows), pgbulk.UpsertOptions{})
//	})
//	defer w.Close()
//	for account := range received {
//		if err := w.Write(account); err != nil { ... }
//	}
//	result, err := w.Flush()
//
// The call begins with the first row and returns at the Flush. Until then it keeps its connection,
// on which a transaction is open. A Writer is not for several goroutines at once.
type Writer[T any] struct {
	call   func(rows iter.Seq[T]) (Result, error)
	next   func() (struct{}, bool) // lets the call go on until it wants another row; nil between calls
	stop   func()
	row    T
	ended  bool // no more rows are to come
	result Result
	err    error // why the Writer is of no more use
}

// NewWriter returns a Writer whose rows go to call, which runs Insert or another call of this
// package with them. It runs once for each Flush.
func NewWriter[T any](call func(rows iter.Seq[T]) (Result, error)) *Writer[T] {
	return &Writer[T]{call: call}
}

var (
	errNotFlushed = errors.New("pgbulk: the Writer was closed before its rows were flushed: they are not written")
	errClosed     = errors.New("pgbulk: the Writer is closed")
)

// Write hands over a row, which it does not keep. After an error nothing since the last Flush is
// written, and all further calls return the same error.
func (w *Writer[T]) Write(row T) error {
	if w.err != nil {
		return w.err
	}
	if w.next == nil {
		w.ended = false
		w.next, w.stop = iter.Pull(w.run)
		if _, wants := w.next(); !wants {
			return w.finish()
		}
	}
	w.row = row
	if _, wants := w.next(); !wants {
		return w.finish()
	}
	return nil
}

// run runs the call, and yields each time that the call wants a row.
func (w *Writer[T]) run(yield func(struct{}) bool) {
	defer func() {
		if r := recover(); r != nil && r != any(errNotFlushed) {
			panic(r)
		}
	}()
	w.result, w.err = w.call(func(rows func(T) bool) {
		for {
			if !yield(struct{}{}) {
				panic(errNotFlushed) // which undoes the rows
			}
			if w.ended || !rows(w.row) {
				return
			}
		}
	})
}

// finish notes that the call has returned.
func (w *Writer[T]) finish() error {
	w.next, w.stop = nil, nil
	if w.err == nil && !w.ended {
		w.err = errors.New("pgbulk: the Writer's call returned without an error before it had all rows")
	}
	return w.err
}

// Flush ends the call, which commits the rows since the last Flush unless it is part of the caller's
// transaction, and returns what the call did. Without rows it does nothing.
func (w *Writer[T]) Flush() (Result, error) {
	if w.err != nil || w.next == nil {
		return Result{}, w.err
	}
	w.ended = true
	w.next()
	if err := w.finish(); err != nil {
		return Result{}, err
	}
	return w.result, nil
}

// Close undoes the rows that were written since the last Flush, which is its error. It may be called
// again.
func (w *Writer[T]) Close() error {
	stop := w.stop
	if stop == nil {
		if w.err == nil {
			w.err = errClosed
		}
		return nil
	}
	w.next, w.stop = nil, nil
	stop()
	w.err = errClosed
	return errNotFlushed
}
