package pgbulk

import "iter"

// Options are the settings of one operation.
type Options = options

// WithChunks are options whose statements have at most so many rows, and bytes of values, unless
// these are 0.
func WithChunks(o Options, rows, bytes int) Options {
	c := chunks{rows, bytes}
	switch o := o.(type) {
	case InsertOptions:
		o.chunks = c
		return o
	case UpsertOptions:
		o.chunks = c
		return o
	case UpdateOptions:
		o.chunks = c
		return o
	}
	panic("no such options")
}

// AsType is asType.
func AsType[T error](err error) (T, bool) { return asType[T](err) }

// Fallible are rows whose source may fail.
func Fallible(rows iter.Seq2[[]any, error]) Source { return fallible(rows) }
