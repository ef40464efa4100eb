package pgbulk

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Result is what a call did.
type Result struct {
	Rows     int      // rows that the source had
	Affected int64    // rows that the server inserted, updated or deleted
	Strategy Strategy // that was taken
}

// Upsert writes rows to a table. A row whose key exists is updated, or treated as o.Conflict says.
// The error is an *Error.
func Upsert(ctx context.Context, db DB, t Table, rows Rows, o Options) (Result, error) {
	return call(ctx, db, OpUpsert, t, rows, o)
}

// Insert writes rows to a table. The key, if given, matters only if o.Conflict is not Fail. The
// error is an *Error.
func Insert(ctx context.Context, db DB, t Table, rows Rows, o Options) (Result, error) {
	return call(ctx, db, OpInsert, t, rows, o)
}

func call(ctx context.Context, db DB, op Operation, t Table, rows Rows, o Options) (Result, error) {
	p, err := newPlan(ctx, db, op, t, rows, o)
	if err != nil {
		return Result{}, err
	}
	defer p.release()
	return p.traced(ctx, func(ctx context.Context) (Result, error) {
		if err := p.describe(ctx); err != nil {
			return Result{}, err
		}
		return p.send(ctx, rows)
	})
}

// plan is a call that has been checked, on a connection that is ready, with what the server says
// about the table once it was described.
type plan struct {
	op         Operation
	table      Table
	options    Options
	conn       *pgx.Conn
	release    func()
	structs    *structs // whose columns are those of the table that match; nil if the columns were given
	layout     *layout
	head, tail string    // of the statement, before and after the source of its rows
	returned   *returned // nil if nothing is
	kept       bool      // described for an earlier call
}

// newPlan checks a call and takes its connection. The error is an *Error.
func newPlan(ctx context.Context, db DB, op Operation, t Table, rows Rows, o Options) (*plan, error) {
	p := &plan{op: op, table: t, options: o}
	switch {
	case len(t.Columns) > 0:
	case op == OpDelete:
		p.table.Columns = t.Key
	case rows.structs != nil && len(rows.structs.fields) > 0:
		p.structs = rows.structs
		p.table.Columns = p.structs.guess(append(slices.Clip(t.Key), o.Set...)...)
	}
	if err := p.table.check(&p.options, op); err != nil {
		return nil, p.error(err)
	}
	var err error
	if p.conn, p.release, err = acquire(ctx, db); err != nil {
		return nil, p.error(err)
	}
	return p, nil
}

// describe asks the server about the table. The error is an *Error.
func (p *plan) describe(ctx context.Context) (err error) {
	fail := func(err error) error {
		e := p.error(err)
		e.Closed = p.conn.PgConn().IsClosed()
		return e
	}
	b := pool.Get().(*buffers)
	defer b.put()
	if p.layout, err = describe(ctx, p, b); err != nil {
		return fail(err)
	}
	p.options.fillSet(&p.table)
	p.options.fillWhere()
	p.head, p.tail = p.table.parts(p.op, &p.options, p.layout.collation)
	if p.options.Returning != nil {
		if p.returned, err = p.describeReturning(ctx, b); err != nil {
			return fail(err)
		}
		p.tail += p.returned.clause
	}
	return nil
}

func (p *plan) error(err error) *Error { return newError(string(p.op), p.table.Name.Sanitize(), err) }

// send writes rows. The error is an *Error.
func (p *plan) send(ctx context.Context, rows Rows) (Result, error) {
	if rows.open == nil {
		return Result{}, p.error(errNoSource)
	}
	source, err := rows.open(p.table.Columns)
	if err != nil {
		return Result{}, p.error(err)
	}
	if p.options.Compression != "" {
		return p.retrying(ctx, rows, func() (Result, error) {
			return p.compressing(ctx, func() (Result, error) { return p.deliver(ctx, source) })
		})
	}
	return p.retrying(ctx, rows, func() (Result, error) { return p.deliver(ctx, source) })
}

func (p *plan) deliver(ctx context.Context, source iter.Seq2[[]any, error]) (Result, error) {
	pc := p.conn.PgConn()
	b := pool.Get().(*buffers)
	defer b.put()
	w := &writer{
		plan: p, ctx: ctx, pc: pc, strategy: p.options.Strategy, inTx: pc.TxStatus() == 'T', buffers: b,
		encoder: encoder{m: p.conn.TypeMap(), columns: slices.Clone(p.layout.columns), scratch: b.values},
	}
	err := w.run(source)
	b.values = w.scratch
	result := Result{Rows: w.n, Affected: w.affected, Strategy: w.strategy}
	if err != nil {
		e := p.error(err)
		w.explain(e)
		e.Closed = pc.IsClosed()
		return Result{Rows: w.n, Strategy: w.strategy}, e
	}
	return result, nil
}

// writer is a call of Upsert or Insert on its way.
type writer struct {
	*plan
	ctx  context.Context
	pc   *pgconn.PgConn
	inTx bool // in the caller's transaction
	encoder
	*buffers

	sorts    bool             // rows by key where one statement has them all
	hold     *pgconn.Pipeline // the connection's lock, which is a pipeline's that sends nothing
	strategy Strategy         // Auto as long as it is not settled
	stream   *stream          // nil as long as nothing has been sent
	n        int              // rows so far
	affected int64

	// Of Bind.
	parsed    int   // rows of the statement that was parsed last, or unnested
	sent      []int // first rows of the statements
	described bool  // what they return
	begun     bool  // our transaction
	watching  bool  // for keys that come again in a later statement
	blind     bool  // to them, because what decides on conflicts is not known here
	partial   bool  // or to some, because the bytes of equal keys may differ
	again     bool  // one has, in row n, and is sent twice in the last statement
	firstRow  int   // the row that had it first
	// The first two rows of one statement that have the same key; the second is 0 if there are
	// none.
	pairFirst, pairSecond int
	alone                 bool // all rows are in one statement
	// Of Copy.
	staging bool   // through a temporary table
	stage   string // its name
	out     []bool // columns that the rows of the chunk leave to their DEFAULT; nil if none
	mixed   bool   // an earlier statement left out others
	// Of Unnest.
	arrays    []uint32 // types of arrays of the columns' types, nil if unnest cannot give the columns back
	stageless bool     // Auto does without a temporary table
	direct    bool     // Auto copies straight into the table, from fewRows on

	open []int // columns that have had no value yet, so that their format may change

	uncertain bool
}

// settle looks at the first value of each column that is not NULL. As in pgx, a string may stand
// for a value of any type. If only the server can be trusted to read such a string, the column is
// sent as text. settle reports whether there is such a column.
func (w *writer) settle(row []any) (text bool) {
	open := w.open[:0]
	for _, i := range w.open {
		c, v := &w.columns[i], row[i]
		if v == nil || isDefault(v) {
			open = append(open, i)
			continue
		}
		if _, plain := c.shape.plain(v); plain || c.codecFormat() != binaryFormat {
			continue
		}
		out, err := w.encode(c, v, w.scratch[:0])
		if err == nil && out == nil {
			open = append(open, i)
		} else if err != nil {
			if _, ok := w.text(c, v); ok {
				c.format, c.shape, text = textFormat, shapeOther, true
			}
		}
	}
	w.open = open
	return text
}

// textLate chooses the strategy again when a column turns out to be text after the first row. The
// chunk has only NULLs in that column.
func (w *writer) textLate() {
	switch {
	case w.strategy == Copy && (w.staging || w.options.Strategy == Copy):
		w.staging = true
	case w.strategy != Bind:
		w.strategy, w.parsed = Bind, 0
	}
	w.sign()
}

// choose settles the strategy as far as it can be from the first row.
func (w *writer) choose(row []any) {
	w.staging = w.options.Conflict != Fail || w.op.byKey() || w.returned != nil
	updates := w.op == OpUpdate || w.options.Conflict == DoUpdate && !w.options.setNothing()
	w.blind = updates && !w.table.exactKey(&w.options)
	rekeys := w.op == OpUpsert && w.layout.rekeys
	w.partial = updates && (rekeys || !w.layout.bytesDecide(w.table.Key))
	if w.watching = updates && !w.blind && !rekeys; w.watching {
		w.keys.reset()
	}
	w.isKey = make([]bool, len(w.columns))
	for i, c := range w.table.Columns {
		w.isKey[i] = slices.Contains(w.table.Key, c)
	}
	order := w.options.Order
	w.sorts = updates && !w.blind && !w.op.byKey() && (order == KeyOrder || order == DefaultOrder && w.returned == nil && !w.layout.fills)
	text := slices.ContainsFunc(w.columns, func(c column) bool { return c.format != binaryFormat })
	// COPY in binary needs a temporary table if columns are sent as text, or where COPY and INSERT
	// behave differently.
	plain := !w.staging
	w.staging = w.staging || text || !w.layout.direct
	switch {
	case w.strategy == Unnest:
		if w.arrays = arrayTypes(w.m, w.columns); w.arrays == nil {
			w.strategy = Bind
		}
	case w.strategy != Auto:
	case !w.staging && leftOut(row) == nil:
		w.direct = true
	case text:
		w.strategy = Bind
	default:
		w.arrays = arrayTypes(w.m, w.columns)
		w.stageless = plain || !w.layout.mayStage
	}
}

// run goes through the rows.
func (w *writer) run(source func(yield func([]any, error) bool)) error {
	finished := false
	// A source that uses the connection is told that it is busy, before anything gets between our
	// messages.
	w.hold = w.pc.StartPipeline(context.Background())
	defer func() { w.hold.Close() }()
	defer func() {
		// The source panicked, or ended the goroutine. Undo what was sent, and let that continue.
		if !finished && w.stream != nil {
			w.stream.giveUp(errors.New("the source of rows panicked"))
			w.end()
			w.rollback()
		}
	}()
	w.chunk.reset(0)
	var failed error
	for row, err := range source {
		if err == nil && len(row) != len(w.columns) {
			err = &rowError{row: w.n, err: errTooMany}
		}
		if err == nil && w.n == 0 {
			for i := range w.columns {
				w.open = append(w.open, i)
			}
			w.settle(row)
			w.choose(row)
		} else if err == nil && len(w.open) > 0 && !(w.strategy == Copy && w.stream != nil) && w.settle(row) {
			w.textLate()
		}
		if err == nil {
			err = w.row(row)
		} else if _, ok := errors.AsType[*rowError](err); !ok {
			err = &rowError{row: w.n, err: err}
		}
		if err != nil {
			failed = err
			break
		}
		w.n++
		if w.stream != nil && w.stream.stop.Load() {
			break
		}
		if w.stream == nil && w.ctx.Err() != nil {
			failed = context.Cause(w.ctx)
			break
		}
	}
	finished = true
	if failed == errAgain {
		w.stream.giveUp(nil) // the server fails before it comes to this, unless a trigger swallowed the row
		err := w.end()
		if hasCode(err, invalidCursorName) {
			err = &rowError{row: w.n, err: errAgain}
		}
		return err
	}
	if failed == nil {
		failed = w.last()
	}
	if w.stream == nil {
		return failed
	}
	if failed != nil {
		w.stream.giveUp(failed)
	}
	return w.end()
}

// row takes one row.
func (w *writer) row(row []any) error {
	if err := w.leaveOut(row); err != nil {
		return err
	}
	if w.strategy == Copy && w.stream != nil {
		return w.copyRow(row)
	}
	size, referred := w.size(row)
	full := w.chunk.rows() >= w.options.ChunkRows || size > w.options.ChunkBytes-w.chunk.size()
	if full {
		if err := w.settleKeys(); err != nil {
			return err
		}
	}
	switch {
	case w.strategy != Auto:
	case w.direct && (full || w.chunk.rows() >= fewRows-1 || w.chunk.size()+size > bufferSize):
		w.strategy = Copy
	case full && !w.direct && !w.stageless && (w.blind || w.partial || w.keyOrder() || !w.large(size)):
		w.strategy = Copy
	}
	if w.strategy == Copy {
		// While a column has had no value, rows are held back, as many as Bind could send at once:
		// COPY cannot change a column's format later.
		if len(w.open) > 0 && w.chunk.rows() < maxParams/len(w.columns) && size <= w.options.ChunkBytes-w.chunk.size() {
			w.chunk.grow(size-referred, w.options.ChunkBytes)
			return w.add(&w.chunk, row)
		}
		w.startCopy()
		w.copyChunk()
		return w.copyRow(row)
	}
	if full {
		w.settleParameters()
		if w.chunk.rows() > 0 {
			if err := w.bindChunk(); err != nil {
				return err
			}
		}
		w.chunk.reset(w.n)
		if size > w.options.ChunkBytes {
			return w.bindRow(row)
		}
	}
	w.chunk.grow(size-referred, w.options.ChunkBytes)
	if err := w.add(&w.chunk, row); err != nil {
		return err
	}
	if !w.watching {
		return nil
	}
	i := w.chunk.rows() - 1
	isKey, known := w.keyParams()
	if !known {
		return nil
	}
	key, ok := w.chunk.appendKey(w.key[:0], i, isKey, w.layout.nullsAlike)
	if w.key = key; !ok || !w.twice(key) {
		return nil
	}
	again := w.chunk.appendRow(nil, i)
	w.chunk.reset(w.n)
	for range 2 {
		w.chunk.data = append(w.chunk.data, again...)
		w.chunk.ends = append(w.chunk.ends, rowEnd{data: len(w.chunk.data)})
	}
	if err := w.bindChunk(); err != nil {
		return err
	}
	return errAgain
}

// settleKeys asks, before the first of several statements, whether a trigger may make the keys.
// Only then does it matter: within one statement the server compares what the keys are in the end.
func (w *writer) settleKeys() error {
	if w.stream != nil || !w.watching || w.op != OpUpsert {
		return nil
	}
	if w.layout.triggers {
		w.hold.Close()
		rows, err := w.ask(w.ctx, w.pc, triggerQuery, w.table.Name.Sanitize())
		if !w.pc.IsClosed() {
			w.hold = w.pc.StartPipeline(context.Background())
		}
		if err != nil {
			return err
		}
		w.layout.triggers, w.layout.rekeys = false, w.layout.rekeys || len(rows) > 0 // shards share what is known
	}
	if w.layout.rekeys {
		w.watching, w.partial = false, true
	}
	return nil
}

// largeRow is the size in bytes from which Bind is better. Copying into a temporary table has the
// server write every row twice, which costs more than the parsing of statements does once a row is
// larger than about this; see docs/pgbulk.md for the measurement.
const largeRow = 800

// fewRows is the number of rows from which COPY straight into the table is better than Bind: its
// transaction and check of the types take longer than parsing some placeholders. Large rows are
// fewer: as many as fit in the buffer.
const fewRows = 30

// unnestRows is the number of small rows from which Unnest is better than Bind.
const unnestRows = 30

// settleParameters chooses Bind or Unnest, when Auto does not take Copy.
func (w *writer) settleParameters() {
	switch {
	case w.strategy == Auto && w.arrays != nil && w.out == nil && w.chunk.rows() >= unnestRows && !w.large(0):
		w.strategy = Unnest
	case w.strategy != Unnest:
		w.strategy = Bind
	}
}

// large reports whether the rows seen so far, and one more of the given size, are large ones.
func (w *writer) large(size int) bool {
	return (w.chunk.size()+size)/(w.chunk.rows()+1) >= largeRow
}

// twice reports whether an earlier statement has the key of row n. A single statement would fail; a
// second one would update what the first wrote. To get the server's own error, the row is sent
// twice in one statement.
func (w *writer) twice(key []byte) bool {
	first, again := w.keys.add(key, w.n)
	if !again {
		return false
	}
	if first >= w.chunk.first { // in the same statement the server sees it
		if w.pairSecond == 0 {
			w.pairFirst, w.pairSecond = first, w.n
		}
		return false
	}
	w.again, w.firstRow = true, first
	return true
}

// errAgain ends a call whose last statement is certain to fail.
var errAgain = errors.New("a key occurs twice in one call")

// last sends what is left when the source has ended.
func (w *writer) last() error {
	if w.strategy == Copy {
		if w.stream == nil && w.chunk.rows() == 0 {
			return nil
		}
		if w.stream == nil {
			w.startCopy()
			w.copyChunk()
		}
		w.stream.endCopy()
		return nil
	}
	w.settleParameters()
	if w.stream == nil && w.chunk.rows() == 0 {
		return nil
	}
	if w.stream != nil && w.stream.stop.Load() {
		w.stream.giveUp(nil)
		return nil
	}
	if w.chunk.rows() > 0 {
		w.alone = w.stream == nil && w.out == nil
		if err := w.bindChunk(); err != nil {
			return err
		}
	}
	if w.stream.stop.Load() {
		w.stream.giveUp(nil) // the last statement may have been left out
		return nil
	}
	w.endBind()
	return nil
}

// end waits for the server's answer.
func (w *writer) end() error {
	s := w.stream
	err := s.close()
	w.pastCopy()
	w.uncertain = err != nil && !w.inTx && w.returned == nil && s.uncertain()
	if err == nil {
		w.affected = s.affected
		if w.strategy == Copy && !w.staging {
			w.affected = s.copied
		}
	}
	return w.settleReturned(err)
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
}

var pool = sync.Pool{New: func() any {
	return &buffers{wire: make([]byte, bufferSize), values: make([]byte, 0, 1024)}
}}

// put keeps the buffers, unless a large value has made them large.
func (b *buffers) put() {
	const limit = 2 << 20
	if cap(b.values) > limit {
		b.values = make([]byte, 0, 1024)
	}
	b.chunk.reset(0)
	if cap(b.chunk.data) > limit {
		b.chunk.data = nil
	}
	pool.Put(b)
}

// exec runs statements by themselves, for what comes before or after the rows.
func (b *buffers) exec(ctx context.Context, pc *pgconn.PgConn, sql string) error {
	s := open(ctx, pc, b)
	s.query(sql)
	s.flush()
	s.complete = s.err == nil
	return s.close()
}
