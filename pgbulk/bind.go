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
	session   *session
	unnests   bool     // Unnest was chosen
	arrays    []uint32 // types of arrays of the columns' types, if it can be
	statement string   // its name
	parsed    int      // rows of the statement that was parsed last, or unnested
	sent      []int    // first rows of the statements
	described bool     // what they return
	begun     bool     // our transaction
	single    bool     // the statement has all rows of the call
	defaults  defaults // columns that the rows of the chunk leave to their DEFAULT; nil if none
	mixed     bool     // an earlier statement left out others
}

func (b *bind) name() Strategy {
	if b.unnests && (b.arrays != nil || b.session.n == 0) {
		return Unnest
	}
	return Bind
}

func (b *bind) begin([]any) {
	if b.unnests {
		b.arrays = arrayTypes(b.session.enc.m, b.session.enc.columns)
	}
}

func (b *bind) late()  { b.parsed, b.arrays = 0, nil }
func (b *bind) again() { b.parsed, b.sent = 0, nil }

func (b *bind) row(ctx context.Context, row []any) error {
	c := b.session
	if out := defaultsOf(row); !slices.Equal(out, b.defaults) {
		if err := b.leaveOut(ctx, out); err != nil {
			return err
		}
	}
	size := c.enc.size(row)
	if c.full(size) {
		if err := c.settleTriggers(ctx); err != nil {
			return err
		}
		if err := b.send(ctx); err != nil {
			return err
		}
		c.buf.chunk.reset(c.n)
	}
	// A large row is a statement of its own, for which not even its bytes are copied.
	large := size > c.plan.settings.chunkBytes
	if err := c.enc.add(&c.buf.chunk, row, large); err != nil {
		return err
	}
	if c.watch(b.defaults) {
		return b.sendTwice(ctx)
	}
	if !large {
		return nil
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	c.stream.wire.flush() // while the row is ours
	c.buf.chunk.reset(c.n + 1)
	return nil
}

// leaveOut keeps to one chunk only rows that leave the same columns to their DEFAULT.
func (b *bind) leaveOut(ctx context.Context, out defaults) error {
	c := b.session
	if c.plan.settings.op == opUpdate {
		return &rowError{c.n, c.enc.columns[slices.Index(out, true)].name, errDefault}
	}
	if c.buf.chunk.rows() > 0 {
		if err := c.settleTriggers(ctx); err != nil {
			return err
		}
		if err := b.send(ctx); err != nil {
			return err
		}
		c.buf.chunk.reset(c.n)
	}
	b.mixed = b.mixed || len(b.sent) > 0
	b.defaults, b.parsed, c.enc.omits = out, 0, out != nil
	return nil
}

// send sends the chunk, if it has rows.
func (b *bind) send(ctx context.Context) error {
	c := b.session
	if c.buf.chunk.rows() == 0 {
		return nil
	}
	if size := c.buf.chunk.size() + bindOverhead + 4*len(c.enc.columns); size > maxValue {
		return &rowError{row: c.buf.chunk.first, err: fmt.Errorf("statement of %d bytes: %w", size, ErrTooLarge)}
	}
	if c.stream == nil {
		if !b.single {
			if err := c.refresh(ctx); err != nil {
				return err
			}
		}
		b.start(ctx)
	}
	if !c.stopped() {
		if b.arrays == nil || b.defaults != nil || c.buf.chunk.rows() == 1 {
			b.writeValues()
		} else {
			b.writeArrays()
		}
		b.sent = append(b.sent, c.buf.chunk.first)
	}
	return nil
}

// sendTwice sends the chunk's last row alone, as two rows with the same key.
func (b *bind) sendTwice(ctx context.Context) error {
	c := b.session
	if c.buf.chunk.size() > maxValue/4 {
		return &rowError{row: c.n, err: errAgain} // the server could not be asked
	}
	again := c.buf.chunk.appendRow(nil, c.buf.chunk.rows()-1)
	c.buf.chunk.reset(c.n)
	for range 2 {
		c.buf.chunk.data = append(c.buf.chunk.data, again...)
		c.buf.chunk.ends = append(c.buf.chunk.ends, rowEnd{data: len(c.buf.chunk.data)})
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	return errAgain
}

// start begins the exchange. Several statements under one Sync are one transaction too, but not to
// every pooler.
func (b *bind) start(ctx context.Context) {
	c := b.session
	c.openStream(ctx)
	if c.plan.known != nil {
		c.stream.wire.message('D', "S"+c.plan.known.guard)
	}
	b.begun = !c.inTx && (c.plan.returned != nil || !b.single)
	if b.begun {
		c.stream.wire.command("begin")
	}
}

func (b *bind) end(ctx context.Context) error {
	c := b.session
	if c.stream == nil && c.buf.chunk.rows() == 0 {
		return nil
	}
	b.single = c.stream == nil && b.defaults == nil
	if err := b.send(ctx); err != nil {
		return err
	}
	if c.stopped() { // perhaps before the last statement
		c.stream.giveUp(nil)
		return nil
	}
	if b.begun && c.plan.returned == nil {
		c.stream.wire.command("commit")
	}
	c.stream.sync()
	return nil
}

// writeValues writes the chunk as an INSERT with VALUES, or the like. The statement is parsed again
// only if its number of rows has changed.
func (b *bind) writeValues() {
	c, s := &b.session.buf.chunk, &b.session.stream.wire
	params := c.rows() * len(b.defaults.given(len(b.session.enc.columns)))
	parse := b.parsed != c.rows()
	if parse {
		b.sign()
		b.parse(c.rows(), b.session.buf.types, params)
	}
	s.bind(b.statement, b.session.buf.formats, params, c.size()+b.session.plan.resultFormats())
	lent := c.referred == 0 && len(c.data) >= bufferSize/2
	if lent {
		s.refer(alias(c.data))
	} else {
		c.write(s, 0, c.rows())
	}
	b.execute()
	b.hurry(lent || parse)
}

// parse has the statement for a number of rows parsed, or the unnested one, unless the connection
// has it prepared.
func (b *bind) parse(rows int, types []uint32, params int) {
	c := b.session
	b.parsed, b.statement = rows, ""
	if known := c.plan.known; known != nil && (rows == 1 || rows == unnested) && c.keyed.pairSecond == 0 {
		if known.sent = known.prepared[rows]; known.sent == nil {
			known.sent = &statement{name: connectionOf(c.plan.conn).prepared.name()}
			known.prepared[rows] = known.sent
		}
		if b.statement = known.sent.name; known.sent.parsed {
			return
		}
	}
	buf := c.buf
	if rows == unnested {
		buf.sql = b.appendSelect(buf.sql[:0])
	} else {
		buf.sql = b.appendInsert(buf.sql[:0], rows)
	}
	c.stream.wire.parse(b.statement, alias(buf.sql), types, params)
}

// hurry flushes a statement that others follow, if it must go out before they come. The chunk that
// it refers to is about to be used again, or the server has parsed it: statement_timeout runs from
// the Parse to the Execute, however long the source of rows takes between them.
func (b *bind) hurry(must bool) {
	if must && !b.single {
		b.session.stream.wire.flush()
	}
}

// sign settles the types and formats of the parameters of a row.
func (b *bind) sign() {
	c := b.session
	c.buf.types, c.buf.formats = c.buf.types[:0], c.buf.formats[:0]
	for _, i := range b.defaults.given(len(c.enc.columns)) {
		column := c.enc.columns[i]
		c.buf.types = append(c.buf.types, column.oid)
		c.buf.formats = append(c.buf.formats, byte(column.format))
	}
}

// execute ends the Bind message of a statement with rows, and sends an Execute message. What is
// returned is described before, once: it is the same for all statements of the call.
func (b *bind) execute() {
	c := b.session
	s := &c.stream.wire
	s.reserve(20 + c.plan.resultFormats()) // so that no Bind goes out, and has the statement_timeout run, without its Execute
	if c.plan.returned == nil {
		s.execute()
		return
	}
	s.int16(len(c.plan.returned.formats))
	for _, f := range c.plan.returned.formats {
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
	values := append(b.session.buf.values[:0], "values "...)
	n := 0
	for r := range rows {
		for i := range b.session.enc.columns {
			switch {
			case i > 0:
				values = append(values, ',')
			case r > 0:
				values = append(values, ",("...)
			default:
				values = append(values, '(')
			}
			if b.defaults != nil && b.defaults[i] {
				values = append(values, "default"...)
				continue
			}
			n++
			values = strconv.AppendInt(append(values, '$'), int64(n), 10)
		}
		values = append(values, ')')
	}
	b.session.buf.values = values
	return b.appendStatement(sql, alias(values), rows > 1)
}

// appendStatement appends the statement for a source of rows, VALUES or SELECT.
func (b *bind) appendStatement(sql []byte, source string, several bool) []byte {
	c := b.session
	head, tail := b.parts()
	// Sorting is nearly free if the statement has all of the call's rows, none are returned, and the
	// server fills in no other columns.
	sorts := several && c.keyed.sorts && b.single && c.plan.returned == nil && !c.plan.layout.fills
	if !sorts {
		return append(append(append(sql, head...), source...), tail...)
	}
	sql = append(append(append(sql, head...), "select * from ("...), source...)
	columns := quoteAll(c.plan.table.Columns)
	sql = append(sql, ") as v ("+columns+")"+c.orderBy()...)
	return append(sql, tail...)
}

// parts are the statement before and after its rows. An update need not count how often a key comes
// if it is known that each comes once. Of a row that exists, an upsert does not set the columns
// that were left out for being zero.
func (b *bind) parts() (head, tail string) {
	k := &b.session.keyed
	if b.session.plan.settings.op == opUpdate && b.single && k.remembers && !k.inexact && k.pairSecond == 0 && b.session.plan.returned == nil {
		return b.session.plan.settings.updateParts(&b.session.plan.table, nil)
	}
	s := b.session.plan.settings
	if s.op == opUpsert && b.defaults != nil && len(b.session.plan.omitted) > 0 {
		s.Set = slices.DeleteFunc(slices.Clone(s.Set), func(c string) bool {
			return b.defaults[slices.Index(b.session.plan.table.Columns, c)] && slices.Contains(b.session.plan.omitted, c)
		})
	}
	head, tail = s.parts(&b.session.plan.table, b.session.plan.layout.collation)
	return head, tail + b.session.plan.returns()
}

func (b *bind) locate(_ context.Context, e *Error, pgErr *pgconn.PgError) {
	c := b.session
	first, last, ok := b.failedStatement()
	n, inBind := bindPosition(pgErr)
	switch {
	case !ok:
	case pgErr.Code == cardinalityViolation && c.keyed.repeated && first == c.n:
		e.FirstRow, e.Row, e.LastRow = c.keyed.repeats, c.n, c.n
	case pgErr.Code == cardinalityViolation && first < c.keyed.pairSecond && c.keyed.pairSecond <= last:
		e.FirstRow, e.Row, e.LastRow = c.keyed.pairFirst, c.keyed.pairSecond, c.keyed.pairSecond
	// Which columns an earlier statement left out is no longer known.
	case inBind && (!b.mixed || c.buf.chunk.first == first) && b.place(e, n-1, first, last):
	case aboutRow(pgErr):
		e.Row, e.LastRow = first, last
	}
}

// place names the row and column of the n-th parameter of the statement of some rows.
func (b *bind) place(e *Error, n, first, last int) bool {
	if b.parsed == unnested && first < last {
		e.Column = b.session.enc.columns[n%len(b.session.enc.columns)].name // the server does not say which row
		return false
	}
	given := b.defaults.given(len(b.session.enc.columns))
	row := first + n/len(given)
	if row > last {
		return false
	}
	e.Row, e.LastRow, e.Column = row, row, b.session.enc.columns[given[n%len(given)]].name
	return true
}

// failedStatement returns the rows of the statement that the server's error was about.
func (b *bind) failedStatement() (first, last int, ok bool) {
	i := b.session.stream.answer.commands
	if b.begun {
		i-- // BEGIN
	}
	if i < 0 || i >= len(b.sent) {
		return 0, 0, false // not about a statement of rows: a deferred constraint, say
	}
	if i+1 < len(b.sent) {
		return b.sent[i], b.sent[i+1] - 1, true
	}
	return b.sent[i], max(b.sent[i], b.session.n-1), true // row n itself, if its key came again
}
