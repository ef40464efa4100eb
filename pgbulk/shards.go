package pgbulk

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Shard is the outcome for the rows that went over one connection of UpsertSharded.
type Shard struct {
	Result
	// Err is why the shard's rows were not written, nil if they were. It is an *Error, whose rows
	// are counted as in the call.
	Err error
}

// errUndone is the error of a shard that was abandoned because another one failed.
var errUndone = errors.New("given up because another shard failed")

// UpsertSharded is Upsert over n connections of a pool at once, for when the server's work is the
// bottleneck. Rows with the same key go over the same connection, in their order; o applies to each
// shard.
//
// It is not one transaction but n: other sessions see one shard's rows before another's. An error
// while rows are being sent undoes all shards. Once all rows have been sent, the shards commit at
// the same time, independently: if one of them fails then, the rows of the others stay written. The
// result has the outcome of each shard; the error joins their errors.
//
// Give ctx a deadline if rows with different keys can wait for each other (a second unique index, a
// trigger that locks): shards are filled by turns, and the server cannot see that one of them waits
// for another.
//
// The call needs n connections of the pool at the same time. Keys that only the database takes for
// equal (case-insensitive text, 1.0 and 1.00) may be in different shards. Of each row 4 bytes are
// remembered, to number the rows in errors.
func UpsertSharded(ctx context.Context, db *pgxpool.Pool, n int, t Table, rows Rows, o Options) ([]Shard, error) {
	return sharded(ctx, db, n, OpUpsert, t, rows, o)
}

// InsertSharded is Insert over n connections of a pool at once, as UpsertSharded is Upsert. Rows
// are shared out by the table's key, or in turn if it has none.
func InsertSharded(ctx context.Context, db *pgxpool.Pool, n int, t Table, rows Rows, o Options) ([]Shard, error) {
	return sharded(ctx, db, n, OpInsert, t, rows, o)
}

func sharded(ctx context.Context, db *pgxpool.Pool, n int, op Operation, t Table, rows Rows, o Options) ([]Shard, error) {
	fail := func(err error) ([]Shard, error) { return nil, newError(string(op), t.Name.Sanitize(), err) }
	if most := int(db.Config().MaxConns); n < 1 || n > most {
		return fail(fmt.Errorf("%d shards: want 1 to %d, the most connections that the pool makes (MaxConns)", n, most))
	}
	if rows.open == nil {
		return fail(errNoSource)
	}
	if o.Returning != nil {
		return fail(errors.New("Options.Returning does not work with shards: use Upsert or Insert"))
	}
	d, err := newDistributor(ctx, db, n, op, t, rows, o)
	if err != nil {
		return nil, err
	}
	defer d.close()
	source, err := rows.open(d.plan.table.Columns)
	if err != nil {
		return fail(err)
	}
	return d.run(ctx, source)
}

// distributor shares the rows of a call out.
type distributor struct {
	plan    *plan // of the first shard
	shards  []*shard
	encoder       // of keys
	key     []int // the key's columns
	buffer  []byte
	seed    maphash.Seed
	n       int
}

// shard is a connection at work. Its call runs as a coroutine, resumed for each of its rows: so
// rows need not be copied between goroutines, and each is finished with before the next is asked
// for.
type shard struct {
	plan    *plan
	resume  func() (struct{}, bool)
	stop    func()
	row     []any // for the next turn
	ended   bool  // there are no more
	numbers []uint32
	Shard
}

func newDistributor(ctx context.Context, db *pgxpool.Pool, n int, op Operation, t Table, rows Rows, o Options) (_ *distributor, err error) {
	d := &distributor{seed: maphash.MakeSeed()}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	done, err := takeTurn(ctx, db)
	if err != nil {
		return nil, newError(string(op), t.Name.Sanitize(), err)
	}
	defer done()
	if d.plan, err = newPlan(ctx, db, op, t, rows, o); err != nil {
		return nil, err
	}
	d.shards = append(d.shards, &shard{plan: d.plan})
	if err = d.plan.describe(ctx); err != nil {
		return nil, err
	}
	for len(d.shards) < n {
		p := *d.plan
		if p.conn, p.release, err = acquire(ctx, db); err != nil {
			return nil, p.error(err)
		}
		d.shards = append(d.shards, &shard{plan: &p})
	}
	if op == OpUpsert && !d.plan.table.exactKey(&d.plan.options) {
		return nil, d.plan.error(errors.New("rows are shared by Table.Key: Options.Target cannot take its place"))
	}
	d.encoder = encoder{m: d.plan.conn.TypeMap(), columns: d.plan.layout.columns}
	for i, c := range d.plan.table.Columns {
		if slices.Contains(d.plan.table.Key, c) {
			d.key = append(d.key, i)
		}
	}
	return d, nil
}

func (d *distributor) close() {
	for _, s := range d.shards {
		if s.stop != nil {
			s.stop()
		}
		s.plan.release()
	}
}

// run goes through the rows. If the source panics, close has the shards undone.
func (d *distributor) run(ctx context.Context, source iter.Seq2[[]any, error]) ([]Shard, error) {
	var failed error
	for _, s := range d.shards {
		if !s.start(ctx) && failed == nil {
			failed = s.Err
		}
	}
	if failed != nil {
		source = func(func([]any, error) bool) {} // it is not asked for a row
	}
	for row, err := range source {
		if err == nil && len(row) != len(d.columns) {
			err = errTooMany
		}
		if err != nil {
			failed = d.plan.error(&rowError{row: d.n, err: err})
			break
		}
		s := d.shards[d.shardOf(row)]
		s.row = row
		s.numbers = append(s.numbers, uint32(d.n))
		d.n++
		if _, more := s.resume(); !more {
			failed = s.Err
			break
		}
	}
	var wg sync.WaitGroup
	for _, s := range d.shards {
		wg.Go(func() { s.end(failed != nil) })
	}
	wg.Wait()
	var list []Shard
	var all []error
	for _, s := range d.shards {
		list = append(list, s.Shard)
		if s.Err != nil && !errors.Is(s.Err, errUndone) {
			all = append(all, s.Err)
		}
	}
	if len(all) == 0 && failed != nil {
		all = append(all, failed)
	}
	return list, errors.Join(all...)
}

// shardOf is the number of a row's shard.
func (d *distributor) shardOf(row []any) int {
	if len(d.key) == 0 {
		return d.n % len(d.shards)
	}
	d.buffer = d.buffer[:0]
	for _, i := range d.key {
		var err error
		if d.buffer, err = d.append(d.buffer, i, row[i]); err != nil {
			return 0 // the shard finds the same error, or has the server read the value
		}
	}
	return int(maphash.Bytes(d.seed, d.buffer) % uint64(len(d.shards)))
}

// start begins the shard's call, which comes back for its first row. It reports whether it has.
func (s *shard) start(ctx context.Context) bool {
	s.resume, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		rows := Fallible(func(give func([]any, error) bool) {
			for {
				if !yield(struct{}{}) {
					give(nil, errUndone)
					return
				}
				if s.ended || !give(s.row, nil) {
					return
				}
			}
		})
		s.Result, s.Err = s.plan.traced(ctx, func(ctx context.Context) (Result, error) { return s.plan.send(ctx, rows) })
		if e, ok := errors.AsType[*Error](s.Err); ok {
			s.renumber(e)
		}
	})
	_, more := s.resume()
	return more
}

// end has the shard commit, or give up.
func (s *shard) end(giveUp bool) {
	s.ended = true
	if giveUp {
		s.stop()
		return
	}
	s.resume()
}

// renumber counts the rows of an error as the call does.
func (s *shard) renumber(e *Error) {
	if errors.Is(e, errUndone) {
		e.Row, e.LastRow = -1, -1
	}
	for _, row := range []*int{&e.Row, &e.LastRow, &e.FirstRow} {
		if *row >= 0 && *row < len(s.numbers) {
			*row = int(s.numbers[*row])
		}
	}
}

// turns are the pools from which a call is taking its connections now.
var turns = struct {
	sync.Mutex
	of map[*pgxpool.Pool]*turn
}{of: map[*pgxpool.Pool]*turn{}}

type turn struct {
	taken chan struct{}
	calls int // that have it, or wait for it
}

// takeTurn waits until no other call is taking several connections of the pool. Otherwise two
// calls, each with half of its connections, could deadlock.
func takeTurn(ctx context.Context, db *pgxpool.Pool) (done func(), err error) {
	turns.Lock()
	t := turns.of[db]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		turns.of[db] = t
	}
	t.calls++
	turns.Unlock()
	leave := func() {
		turns.Lock()
		defer turns.Unlock()
		if t.calls--; t.calls == 0 {
			delete(turns.of, db)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
