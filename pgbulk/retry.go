package pgbulk

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Repeatable declares that the source can be run again and then gives the same rows: see
// Options.Retries. [Slice] needs no such declaration.
func (r Rows) Repeatable() Rows {
	r.again = true
	return r
}

// retrying makes a call, and repeats it up to Options.Retries times if the server undid it because
// of another transaction.
func (p *plan) retrying(ctx context.Context, rows Rows, call func() (Result, error)) (Result, error) {
	switch {
	case p.options.Retries == 0:
		return call()
	case !rows.again:
		return Result{}, p.error(errors.New("Options.Retries needs rows that can be read again: use Slice, or Rows.Repeatable"))
	case p.returned != nil:
		return Result{}, p.error(errors.New("Options.Retries and Returning exclude each other: rows that were handed out cannot be taken back"))
	case p.conn.PgConn().TxStatus() != 'I':
		return Result{}, p.error(errors.New("Options.Retries works only outside a transaction: retry your whole transaction instead"))
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
