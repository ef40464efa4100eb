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
	if out := defaultsOf(row); !slices.Equal(out, b.defaults) {
		if err := b.leaveOut(ctx, out); err != nil {
			return err
		}
	}
	size := b.session.enc.size(row)
	if b.session.full(size) {
		if err := b.session.settleTriggers(ctx); err != nil {
			return err
		}
		if err := b.send(ctx); err != nil {
			return err
		}
		b.session.buf.chunk.reset(b.session.n)
	}
	// A large row is a statement of its own, for which not even its bytes are copied.
	large := size > b.session.plan.settings.chunkBytes
	if err := b.session.enc.add(&b.session.buf.chunk, row, large); err != nil {
		return err
	}
	if b.session.watch(b.defaults) {
		return b.sendTwice(ctx)
	}
	if !large {
		return nil
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	b.session.stream.wire.flush() // while the row is ours
	b.session.buf.chunk.reset(b.session.n + 1)
	return nil
}

// leaveOut keeps to one chunk only rows that leave the same columns to their DEFAULT.
func (b *bind) leaveOut(ctx context.Context, out defaults) error {
	if b.session.plan.settings.op == opUpdate {
		return &rowError{b.session.n, b.session.enc.columns[slices.Index(out, true)].name, errDefault}
	}
	if b.session.buf.chunk.rows() > 0 {
		if err := b.session.settleTriggers(ctx); err != nil {
			return err
		}
		if err := b.send(ctx); err != nil {
			return err
		}
		b.session.buf.chunk.reset(b.session.n)
	}
	b.mixed = b.mixed || len(b.sent) > 0
	b.defaults, b.parsed, b.session.enc.omits = out, 0, out != nil
	return nil
}

// send sends the chunk, if it has rows.
func (b *bind) send(ctx context.Context) error {
	if b.session.buf.chunk.rows() == 0 {
		return nil
	}
	if size := b.session.buf.chunk.size() + bindOverhead + 4*len(b.session.enc.columns); size > maxValue {
		return &rowError{row: b.session.buf.chunk.first, err: fmt.Errorf("statement of %d bytes: %w", size, ErrTooLarge)}
	}
	if b.session.stream == nil {
		if !b.single {
			if err := b.session.refresh(ctx); err != nil {
				return err
			}
		}
		b.start(ctx)
	}
	if !b.session.stopped() {
		if b.arrays == nil || b.defaults != nil || b.session.buf.chunk.rows() == 1 {
			b.writeValues()
		} else {
			b.writeArrays()
		}
		b.sent = append(b.sent, b.session.buf.chunk.first)
	}
	return nil
}

// sendTwice sends the chunk's last row alone, as two rows with the same key.
func (b *bind) sendTwice(ctx context.Context) error {
	if b.session.buf.chunk.size() > maxValue/4 {
		return &rowError{row: b.session.n, err: errAgain} // the server could not be asked
	}
	again := b.session.buf.chunk.appendRow(nil, b.session.buf.chunk.rows()-1)
	b.session.buf.chunk.reset(b.session.n)
	for range 2 {
		b.session.buf.chunk.data = append(b.session.buf.chunk.data, again...)
		b.session.buf.chunk.ends = append(b.session.buf.chunk.ends, rowEnd{data: len(b.session.buf.chunk.data)})
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	return errAgain
}

// start begins the exchange. Several statements under one Sync are one transaction too, but not to
// every pooler.
func (b *bind) start(ctx context.Context) {
	b.session.openStream(ctx)
	if b.session.plan.known != nil {
		b.session.stream.wire.message('D', "S"+b.session.plan.known.guard)
	}
	b.begun = !b.session.inTx && (b.session.plan.returned != nil || !b.single)
	if b.begun {
		b.session.stream.wire.command("begin")
	}
}

func (b *bind) end(ctx context.Context) error {
	if b.session.stream == nil && b.session.buf.chunk.rows() == 0 {
		return nil
	}
	b.single = b.session.stream == nil && b.defaults == nil
	if err := b.send(ctx); err != nil {
		return err
	}
	if b.session.stopped() { // perhaps before the last statement
		b.session.stream.giveUp(nil)
		return nil
	}
	if b.begun && b.session.plan.returned == nil {
		b.session.stream.wire.command("commit")
	}
	b.session.stream.sync()
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
	b.parsed, b.statement = rows, ""
	if known := b.session.plan.known; known != nil && (rows == 1 || rows == unnested) && b.session.keyed.pairSecond == 0 {
		if known.sent = known.prepared[rows]; known.sent == nil {
			known.sent = &statement{name: connectionOf(b.session.plan.conn).prepared.name()}
			known.prepared[rows] = known.sent
		}
		if b.statement = known.sent.name; known.sent.parsed {
			return
		}
	}
	buf := b.session.buf
	if rows == unnested {
		buf.sql = b.appendSelect(buf.sql[:0])
	} else {
		buf.sql = b.appendInsert(buf.sql[:0], rows)
	}
	b.session.stream.wire.parse(b.statement, alias(buf.sql), types, params)
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
	b.session.buf.types, b.session.buf.formats = b.session.buf.types[:0], b.session.buf.formats[:0]
	for _, i := range b.defaults.given(len(b.session.enc.columns)) {
		c := b.session.enc.columns[i]
		b.session.buf.types = append(b.session.buf.types, c.oid)
		b.session.buf.formats = append(b.session.buf.formats, byte(c.format))
	}
}

// execute ends the Bind message of a statement with rows, and sends an Execute message. What is
// returned is described before, once: it is the same for all statements of the call.
func (b *bind) execute() {
	s := &b.session.stream.wire
	s.reserve(20 + b.session.plan.resultFormats()) // so that no Bind goes out, and has the statement_timeout run, without its Execute
	if b.session.plan.returned == nil {
		s.execute()
		return
	}
	s.int16(len(b.session.plan.returned.formats))
	for _, f := range b.session.plan.returned.formats {
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
	head, tail := b.parts()
	// Sorting is nearly free if the statement has all of the call's rows, none are returned, and the
	// server fills in no other columns.
	sorts := several && b.session.keyed.sorts && b.single && b.session.plan.returned == nil && !b.session.plan.layout.fills
	if !sorts {
		return append(append(append(sql, head...), source...), tail...)
	}
	sql = append(append(append(sql, head...), "select * from ("...), source...)
	columns := quoteAll(b.session.plan.table.Columns)
	sql = append(sql, ") as v ("+columns+")"+b.session.orderBy()...)
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
	first, last, ok := b.failedStatement()
	n, inBind := bindPosition(pgErr)
	switch {
	case !ok:
	case pgErr.Code == cardinalityViolation && b.session.keyed.repeated && first == b.session.n:
		e.FirstRow, e.Row, e.LastRow = b.session.keyed.repeats, b.session.n, b.session.n
	case pgErr.Code == cardinalityViolation && first < b.session.keyed.pairSecond && b.session.keyed.pairSecond <= last:
		e.FirstRow, e.Row, e.LastRow = b.session.keyed.pairFirst, b.session.keyed.pairSecond, b.session.keyed.pairSecond
	// Which columns an earlier statement left out is no longer known.
	case inBind && (!b.mixed || b.session.buf.chunk.first == first) && b.place(e, n-1, first, last):
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
