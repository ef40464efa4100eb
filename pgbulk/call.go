package pgbulk

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// session is one call's rows on their way.
type session struct {
	plan      *plan
	buf       *buffers
	enc       encoder
	pc        *pgconn.PgConn
	inTx      bool             // in the caller's transaction
	lock      *pgconn.Pipeline // the connection's lock, which is a pipeline's that sends nothing
	stream    *stream          // nil as long as nothing has been sent
	strategy  strategy         // of the next row
	keyed     keyed
	n         int   // rows so far
	undecided []int // columns that have had no value yet, so that their format may change
	uncertain bool  // whether the rows are in
}

// strategy writes the rows of a call its way. Rows that came before it was chosen are in the chunk.
type strategy interface {
	name() Strategy
	// begin starts from what the first row shows.
	begin(row []any)
	// row takes the next row.
	row(ctx context.Context, row []any) error
	// late is told that columns go as text from now on: they have had no value before.
	late()
	// end sends what is left.
	end(ctx context.Context) error
	// locate finds the row and column that an error of the server's is about.
	locate(ctx context.Context, e *Error, pgErr *pgconn.PgError)
}

// start prepares to write rows.
func (p *plan) start() *session {
	pc := p.conn.PgConn()
	c := &session{plan: p, pc: pc, inTx: pc.TxStatus() == 'T', buf: pool.Get().(*buffers),
		enc: encoder{m: p.conn.TypeMap()}}
	c.buf.columns = append(c.buf.columns[:0], p.layout.columns...)
	c.enc.columns = c.buf.columns
	c.buf.chunk.reset(0)
	switch p.settings.Strategy {
	case Bind:
		c.strategy = &bind{session: c}
	case Unnest:
		c.strategy = &bind{session: c, unnests: true}
	case Copy:
		c.strategy = &copying{session: c}
	default:
		c.strategy = &auto{session: c}
	}
	// A source that uses the connection is told that it is busy, before anything gets between our
	// messages.
	c.lock = pc.StartPipeline(context.Background())
	return c
}

// run writes the rows of a source.
func (c *session) run(ctx context.Context, source iter.Seq2[[]any, error]) (Result, error) {
	ended := false
	defer func() {
		// The source panicked, or ended the goroutine. Undo what was sent, and let that continue.
		if !ended {
			c.finish(ctx, errors.New("the source of rows panicked"))
		}
	}()
	var failed error
	for row, err := range source {
		if err == nil {
			err = c.take(ctx, row)
		} else if _, ok := asType[*rowError](err); !ok {
			err = &rowError{row: c.n, err: err}
		}
		if failed = err; err != nil || c.stopped() {
			break
		}
	}
	ended = true
	return c.finish(ctx, failed)
}

// stopped reports that no more rows are of use: the server or the context has ended the call.
func (c *session) stopped() bool { return c.stream != nil && c.stream.wire.stop.Load() }

// take takes a row.
func (c *session) take(ctx context.Context, row []any) error {
	if len(row) != len(c.enc.columns) {
		return &rowError{row: c.n, err: errTooMany}
	}
	switch {
	case c.n == 0:
		c.undecided = make([]int, len(row))
		for i := range row {
			c.undecided[i] = i
		}
		c.settle(row)
		c.keyed.settle(c)
		c.strategy.begin(row)
	case len(c.undecided) > 0 && c.settle(row):
		c.strategy.late()
	}
	for i, v := range row {
		if raw, ok := v.(rawValue); ok {
			var err error
			if row[i], err = raw.valueFor(&c.enc.columns[i]); err != nil {
				return &rowError{c.n, c.enc.columns[i].name, err}
			}
		}
	}
	if err := c.strategy.row(ctx, row); err != nil {
		return err
	}
	c.n++
	if c.stream == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// settle looks at the first value of each column that is not NULL. As in pgx, a string may stand
// for a value of any type. If only the server can be trusted to read such a string, the column is
// sent as text. settle reports whether there is such a column.
func (c *session) settle(row []any) (text bool) {
	open := c.undecided[:0]
	for _, i := range c.undecided {
		col, v := &c.enc.columns[i], row[i]
		if v == nil || isDefault(v) {
			open = append(open, i)
			continue
		}
		if raw, ok := v.(rawValue); ok {
			if raw.format == textFormat && !col.takesText() && col.format == binaryFormat {
				col.format, col.shape, text = textFormat, shapeOther, true
			}
			continue
		}
		if _, plain := col.shape.plain(v); plain || col.codecFormat() != binaryFormat {
			continue
		}
		out, err := c.enc.append(c.buf.values[:0], i, v)
		if err == nil && out[0] == 0xff { // NULL
			open = append(open, i)
		} else if err != nil {
			if _, ok := c.enc.text(col, v); ok {
				col.format, col.shape, text = textFormat, shapeOther, true
			}
		}
	}
	c.undecided = open
	return text
}

// openStream begins the exchange with the rows.
func (c *session) openStream(ctx context.Context) {
	c.stream = open(ctx, c.pc, c.buf)
	c.stream.lock = c.lock
	if c.plan.returned != nil {
		c.enc.lock = new(sync.Mutex)
		c.stream.answer.returner = c.plan.returned.returner(c.enc.m, c.enc.lock)
		c.stream.wire.reading.since = time.Time{} // rows are handed out as they come
	}
}

// finish ends the call: failed is why it is to fail, or nil. The error is an *Error.
func (c *session) finish(ctx context.Context, failed error) (Result, error) {
	defer c.buf.put()
	defer func() { c.lock.Close() }()
	err := c.settleKnown(ctx, c.complete(ctx, failed))
	if err == nil {
		return Result{Rows: c.n, Affected: c.affected(), Strategy: c.strategy.name()}, nil
	}
	e := c.plan.error(err)
	c.explain(ctx, e)
	e.Closed = c.pc.IsClosed()
	return Result{Rows: c.n, Strategy: c.strategy.name()}, e
}

// affected is how many rows the server says it wrote.
func (c *session) affected() int64 {
	switch {
	case c.stream == nil:
		return 0
	case c.strategy.name() == Copy && !c.staged():
		return c.stream.answer.copied
	}
	return c.stream.answer.affected
}

// exec runs statements of our own.
func (c *session) exec(ctx context.Context, sql string) error { return c.buf.exec(ctx, c.pc, sql) }

// complete ends the exchange.
func (c *session) complete(ctx context.Context, failed error) error {
	if failed == errAgain {
		c.stream.giveUp(nil) // the server fails before it comes to this, unless a trigger swallowed the row
		err := c.end(ctx)
		if hasCode(err, invalidCursorName) {
			err = &rowError{row: c.n, err: errAgain}
		}
		return err
	}
	if failed == nil && c.n > 0 {
		failed = c.strategy.end(ctx)
	}
	if c.stream == nil {
		return failed
	}
	if failed != nil {
		c.stream.giveUp(failed)
	}
	return c.end(ctx)
}

// end waits for the server's answer, and commits what a caller's function was to see before.
func (c *session) end(ctx context.Context) error {
	err := c.stream.close(ctx)
	c.pastCopy(ctx)
	c.uncertain = err != nil && !c.inTx && c.plan.returned == nil && c.stream.uncertain()
	if c.plan.returned == nil {
		return err
	}
	if p := c.stream.answer.returner.panicked; p != nil {
		c.abort(ctx)
		c.rollback(ctx)
		panic(p)
	}
	if err != nil || c.inTx {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, err := c.buf.query(ctx, c.pc, "commit")
	c.uncertain = err != nil && s.uncertain()
	return err
}

// buffers are what a call needs, kept for the next one.
type buffers struct {
	wire    []byte
	out     outbox
	values  []byte // encoded, on their way to the wire
	sql     []byte
	formats []byte
	types   []uint32
	chunk   chunk
	key     []byte // of the current row
	keys    keys
	fields  []field
	sizes   []int
	columns []column
}

var pool = sync.Pool{New: func() any {
	return &buffers{wire: make([]byte, bufferSize), values: make([]byte, 0, 1024)}
}}

// put keeps the buffers, unless a large value has made them large.
func (b *buffers) put() {
	const limit = 5 << 20
	if cap(b.values) > limit {
		b.values = make([]byte, 0, 1024)
	}
	b.chunk.reset(0)
	if cap(b.chunk.data) > limit {
		b.chunk.data = nil
	}
	pool.Put(b)
}
