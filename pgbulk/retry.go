package pgbulk

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Repeatable says of a source that it can be gone through again and gives the same rows: see
// Options.Retries. Of [Slice] that is known.
func (r Rows) Repeatable() Rows {
	r.again = true
	return r
}

// retrying makes a call, and makes it again as often as Options.Retries says if the server undid it
// for another transaction's sake.
func (p *plan) retrying(ctx context.Context, rows Rows, call func() (Result, error)) (Result, error) {
	switch {
	case p.options.Retries == 0:
		return call()
	case !rows.again:
		return Result{}, p.error(errors.New("Options.Retries needs rows that can come again: use Slice, or Rows.Repeatable"))
	case p.returned != nil:
		return Result{}, p.error(errors.New("Options.Retries and Returning exclude each other: rows that were handed out cannot be taken back"))
	case p.conn.PgConn().TxStatus() != 'I':
		return Result{}, p.error(errors.New("Options.Retries works only for calls that are a transaction of their own: retry your whole transaction instead"))
	}
	for attempt := 0; ; attempt++ {
		result, err := call()
		if attempt == p.options.Retries || !(hasCode(err, "40001") || hasCode(err, "40P01")) || p.conn.PgConn().TxStatus() != 'I' {
			return result, err
		}
		if e, ok := errors.AsType[*Error](err); ok && (e.Closed || e.Uncertain) {
			return result, err
		}
		select { // a moment, and not the same as the other's
		case <-time.After(rand.N(10 * time.Millisecond << min(attempt, 7))):
		case <-ctx.Done():
			return result, err
		}
	}
}
