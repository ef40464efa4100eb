package pgbulk

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// bind sends a statement with parameters for each chunk of rows, all pipelined under one Sync.
type bind struct {
	*call
	write     func() // the chunk as a statement
	parsed    int    // rows of the statement that was parsed last, or unnested
	sent      []int  // first rows of the statements
	described bool   // what they return
	begun     bool   // our transaction
	single    bool   // the statement has all rows of the call
	out       []bool // columns that the rows of the chunk leave to their DEFAULT; nil if none
	mixed     bool   // an earlier statement left out others
}

func newBind(c *call) *bind {
	b := &bind{call: c}
	b.write = b.values
	return b
}

func (*bind) name() Strategy { return Bind }
func (*bind) begin([]any)    {}
func (b *bind) late()        { b.parsed = 0 }

func (b *bind) affected() int64 {
	if b.stream == nil {
		return 0
	}
	return b.stream.affected
}

func (b *bind) row(ctx context.Context, row []any) error {
	if out := leftOut(row); !slices.Equal(out, b.out) {
		if err := b.leaveOut(ctx, out); err != nil {
			return err
		}
	}
	size, referred := b.size(row)
	if b.full(size) {
		if err := b.settleTriggers(ctx); err != nil {
			return err
		}
		if err := b.send(ctx); err != nil {
			return err
		}
		b.chunk.reset(b.n)
	}
	// A large row is a statement of its own, for which not even its bytes are copied.
	large := size > b.chunkBytes
	if !large {
		b.chunk.grow(size-referred, b.chunkBytes)
	}
	if err := b.add(&b.chunk, row, large); err != nil {
		return err
	}
	if b.watch(b.out) {
		return b.sendTwice(ctx)
	}
	if !large {
		return nil
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	b.stream.flush() // while the row is ours
	b.chunk.reset(b.n + 1)
	return nil
}

// leaveOut keeps to one chunk only rows that leave the same columns to their DEFAULT.
func (b *bind) leaveOut(ctx context.Context, out []bool) error {
	if b.op.byKey() {
		return &rowError{b.n, b.columns[slices.Index(out, true)].name, errDefault}
	}
	if b.chunk.rows() > 0 {
		if err := b.settleTriggers(ctx); err != nil {
			return err
		}
		if err := b.send(ctx); err != nil {
			return err
		}
		b.chunk.reset(b.n)
	}
	b.mixed = b.mixed || len(b.sent) > 0
	b.out, b.parsed, b.omits = out, 0, out != nil
	return nil
}

// send sends the chunk, if it has rows.
func (b *bind) send(ctx context.Context) error {
	if b.chunk.rows() == 0 {
		return nil
	}
	if b.keyOrder() && !b.single && !b.keyed.repeated {
		return errKeyOrder
	}
	if size := b.chunk.size() + bindOverhead + 4*len(b.columns); size > maxValue {
		return &rowError{row: b.chunk.first, err: fmt.Errorf("statement of %d bytes: %w", size, ErrTooLarge)}
	}
	if b.stream == nil {
		b.start(ctx)
	}
	if !b.stopped() {
		b.write()
		b.sent = append(b.sent, b.chunk.first)
	}
	return nil
}

// sendTwice sends the chunk's last row alone, as two rows with the same key.
func (b *bind) sendTwice(ctx context.Context) error {
	if b.chunk.size() > maxValue/4 {
		return &rowError{row: b.n, err: errAgain} // the server could not be asked
	}
	again := b.chunk.appendRow(nil, b.chunk.rows()-1)
	b.chunk.reset(b.n)
	for range 2 {
		b.chunk.data = append(b.chunk.data, again...)
		b.chunk.ends = append(b.chunk.ends, rowEnd{data: len(b.chunk.data)})
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	return errAgain
}

// savepoint is the name of the savepoints inside of the caller's transaction, which are gone when a
// call returns.
const savepoint = "pgbulk"

// saves reports whether the rows go after a savepoint in the caller's transaction: the search for a
// row at fault begins there. If there is but one row there is no search.
func (b *bind) saves() bool { return b.inTx && b.LocateWithin > 0 && !(b.single && b.n == 1) }

// start begins the exchange. Several statements under one Sync are one transaction too, but not to
// every pooler.
func (b *bind) start(ctx context.Context) {
	b.openStream(ctx)
	b.begun = !b.inTx && (b.returned != nil || !b.single)
	switch {
	case b.saves():
		b.stream.command("savepoint " + savepoint)
	case b.begun:
		b.stream.command("begin")
	}
}

func (b *bind) end(ctx context.Context) error {
	if b.stream == nil && b.chunk.rows() == 0 {
		return nil
	}
	b.single = b.stream == nil && b.out == nil
	if err := b.send(ctx); err != nil {
		return err
	}
	if b.stopped() { // perhaps before the last statement
		b.stream.giveUp(nil)
		return nil
	}
	switch {
	case b.saves():
		b.stream.command("release savepoint " + savepoint)
	case b.begun && b.returned == nil:
		b.stream.command("commit")
	}
	b.stream.sync()
	return nil
}

// values writes the chunk as an INSERT with VALUES, or the like. The statement is parsed again only
// if its number of rows has changed.
func (b *bind) values() {
	c, s := &b.chunk, b.stream
	params := c.rows() * b.params()
	parse := b.parsed != c.rows()
	if parse {
		b.sign()
		b.sql = b.appendInsert(b.sql[:0], c.rows())
		s.parse("", alias(b.sql), b.types, params)
		b.parsed = c.rows()
	}
	s.bind("", b.formats, params, c.size()+b.resultFormats())
	lent := c.referred == 0 && len(c.data) >= bufferSize/2
	if lent {
		s.refer(alias(c.data))
	} else {
		c.write(&s.wire, 0, c.rows())
	}
	b.execute()
	// The chunk is about to be used again. And statement_timeout runs from the Parse to the
	// Execute, however long the source of rows takes between them.
	if lent || parse {
		s.flush()
	}
}

// sign settles the types and formats of the parameters of a row.
func (b *bind) sign() {
	b.types, b.formats = b.types[:0], b.formats[:0]
	for i, c := range b.columns {
		if b.out == nil || !b.out[i] {
			b.types = append(b.types, c.oid)
			b.formats = append(b.formats, byte(c.format))
		}
	}
}

// execute ends the Bind message of a statement with rows, and sends an Execute message. What is
// returned is described before, once: it is the same for all statements of the call.
func (b *bind) execute() {
	s := b.stream
	s.reserve(20 + b.resultFormats()) // so that no Bind goes out, and has the statement_timeout run, without its Execute
	if b.returned == nil {
		s.execute()
		return
	}
	s.int16(len(b.returned.formats))
	for _, f := range b.returned.formats {
		s.int16(int(f))
	}
	if !b.described {
		b.described = true
		s.message('D', "P")
	}
	s.executeMessage()
}

// appendInsert appends the statement for a number of rows.
func (b *bind) appendInsert(sql []byte, rows int) []byte {
	sql = append(sql, b.head...)
	sorted := b.sorted() && rows > 1
	if sorted {
		sql = append(sql, "select * from ("...)
	}
	sql = append(sql, "values "...)
	n := 0
	for r := range rows {
		if r > 0 {
			sql = append(sql, ',')
		}
		for i := range b.columns {
			if i == 0 {
				sql = append(sql, '(')
			} else {
				sql = append(sql, ',')
			}
			if b.out != nil && b.out[i] {
				sql = append(sql, "default"...)
				continue
			}
			n++
			sql = strconv.AppendInt(append(sql, '$'), int64(n), 10)
		}
		sql = append(sql, ')')
	}
	if sorted {
		sql = append(sql, b.asSorted()...)
	}
	return append(sql, b.ending()...)
}

// ending is the statement after its rows: of a row that exists, an upsert does not set the columns
// that were left out for being zero.
func (b *bind) ending() string {
	if b.op != opUpsert || b.out == nil || len(b.omitted) == 0 {
		return b.tail
	}
	s := b.settings
	s.Set = slices.DeleteFunc(slices.Clone(s.Set), func(c string) bool {
		return b.out[slices.Index(b.table.Columns, c)] && slices.Contains(b.omitted, c)
	})
	tail := s.onConflict(&b.table)
	if b.returned != nil {
		tail += b.returned.clause
	}
	return tail
}

// sorted reports whether the statement is to be sorted: it has all of the call's rows.
func (b *bind) sorted() bool { return b.keyed.sorts && b.single }

// asSorted ends the subquery of a statement's rows.
func (b *bind) asSorted() string {
	return ") as v (" + quoteAll(b.table.Columns) + ")" + b.orderBy()
}

func (b *bind) locate(ctx context.Context, e *Error, pgErr *pgconn.PgError) {
	first, last, ok := b.failedStatement()
	kept := b.chunk.first == first // its rows
	n, inBind := bindPosition(pgErr)
	switch {
	case !ok:
		e.Unlocated = foundLate
	case pgErr.Code == cardinalityViolation && b.keyed.repeated && first == b.n:
		e.FirstRow, e.Row, e.LastRow = b.keyed.repeats, b.n, b.n
	case pgErr.Code == cardinalityViolation && first < b.keyed.pairSecond && b.keyed.pairSecond <= last:
		e.FirstRow, e.Row, e.LastRow = b.keyed.pairFirst, b.keyed.pairSecond, b.keyed.pairSecond
	// Which columns an earlier statement left out is no longer known.
	case inBind && (!b.mixed || kept) && b.place(e, n-1, first, last):
	case !aboutRow(pgErr):
	default:
		e.Row, e.LastRow = first, last
		b.search(ctx, e, pgErr, kept)
	}
}

// place names the row and column of the n-th parameter of the statement of some rows.
func (b *bind) place(e *Error, n, first, last int) bool {
	if b.parsed == unnested && first < last {
		e.Column = b.columns[n%len(b.columns)].name // the server does not say which row
		return false
	}
	row := first + n/b.params()
	if row > last {
		return false
	}
	e.Row, e.LastRow, e.Column = row, row, b.parameterColumn(n%b.params()).name
	return true
}

// search looks for the row among those of a statement, whose error names none.
func (b *bind) search(ctx context.Context, e *Error, pgErr *pgconn.PgError, kept bool) {
	first := e.Row
	switch {
	case first == e.LastRow || b.pc.IsClosed():
	case !kept: // others came after them
		e.Unlocated = rowsGone
	case b.LocateWithin > 0 && pgErr.Code != cardinalityViolation:
		begin := "begin"
		switch {
		case b.inTx:
			begin = "rollback to savepoint " + savepoint
		case b.begun:
			begin = "rollback; begin"
		}
		if b.exec(ctx, b.pc, begin) != nil {
			return
		}
		from, to := b.halve(ctx, pgErr.Code, b.chunk.rows(), b.try)
		e.Row, e.LastRow = first+from, first+to-1
	}
}

// try inserts some rows of the chunk, in an exchange of its own.
func (b *bind) try(ctx context.Context, from, to int) error {
	params := (to - from) * b.params()
	s := open(ctx, b.pc, b.buffers)
	s.parse("", alias(b.appendInsert(nil, to-from)), b.types, params)
	s.bind("", b.formats, params, b.chunk.sizeOf(from, to))
	b.chunk.write(&s.wire, from, to)
	s.execute()
	s.sync()
	return s.close(ctx)
}

// failedStatement returns the rows of the statement that the server's error was about.
func (b *bind) failedStatement() (first, last int, ok bool) {
	i := b.stream.commands
	if b.saves() || b.begun {
		i-- // the savepoint, or BEGIN
	}
	if i < 0 || i >= len(b.sent) {
		return 0, 0, false // not about a statement of rows: a deferred constraint, say
	}
	if i+1 < len(b.sent) {
		return b.sent[i], b.sent[i+1] - 1, true
	}
	return b.sent[i], max(b.sent[i], b.n-1), true // row n itself, if its key came again
}
