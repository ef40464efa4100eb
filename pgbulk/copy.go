package pgbulk

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// copying sends the rows as COPY data, into the table or into a temporary table, the stage.
type copying struct {
	session *session
	chosen  bool // by Auto, which can still choose otherwise
	staging bool
	stage   string // its name
}

func (*copying) name() Strategy { return Copy }

func (c *copying) begin([]any) { c.staging = c.session.staged() }

// plainInsert reports whether a row is inserted as it is, and nothing else is wanted.
func (p *plan) plainInsert() bool {
	return p.settings.op == opInsert && !p.settings.skipExisting && p.returned == nil
}

// staged reports whether COPY needs a temporary table: for what it cannot do, if columns are sent
// as text, or where COPY and INSERT behave differently.
func (c *session) staged() bool {
	return !c.plan.plainInsert() || !c.enc.binary() || !c.plan.layout.direct
}

func (c *copying) late() {
	if c.chosen && !c.staging {
		c.session.strategy = &bind{session: c.session}
		return
	}
	c.staging = true
}

func (c *copying) row(ctx context.Context, row []any) error {
	if c.session.stream == nil {
		// While a column has had no value, rows are held back, as many as Bind could send at once:
		// COPY cannot change a column's format later.
		size := c.session.enc.size(row)
		if len(c.session.undecided) > 0 && c.session.buf.chunk.rows() < maxParams/len(c.session.enc.columns) && size <= c.session.plan.settings.chunkBytes-c.session.buf.chunk.size() {
			return c.session.enc.add(&c.session.buf.chunk, row, false)
		}
		c.start(ctx)
	}
	s, chunk, lends := &c.session.stream.wire, &c.session.buf.chunk, c.session.enc.lends(row)
	chunk.reset(c.session.n)
	if err := c.session.enc.add(chunk, row, lends); err != nil {
		return err
	}
	s.int16(len(row))
	chunk.write(s, 0, 1)
	if lends {
		s.flush() // while the row is ours
	}
	return nil
}

// start begins the exchange with the statements before and after the rows, all in one simple Query:
// the server works through them one after the other, reading the rows when it comes to COPY. We
// need not wait for it to say that it is ready for them; were it to fail before, it would ignore
// them (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY).
func (c *copying) start(ctx context.Context) {
	c.session.openStream(ctx)
	c.session.stream.copies = true
	c.session.stream.wire.message('Q', c.script())
	c.session.stream.wire.startCopy()
	for i := range c.session.buf.chunk.rows() {
		c.session.stream.wire.int16(len(c.session.enc.columns))
		c.session.buf.chunk.write(&c.session.stream.wire, i, i+1)
	}
	c.session.buf.chunk.reset(c.session.n)
	c.session.undecided = nil
}

func (c *copying) end(ctx context.Context) error {
	if c.session.stream == nil {
		c.start(ctx)
	}
	c.session.stream.endCopy()
	return nil
}

// script is the text of the Query. Outside of a transaction it begins one: a pooler between the two
// then leaves us the server's connection until an error has been answered, and with it the rest of
// the rows, which are already on their way.
func (c *copying) script() string {
	p := c.session.plan
	create, table, then := "", p.table.Name.Sanitize(), c.sameTypes
	if c.staging {
		create, then = c.createStage(), c.intoTable
		table = "pg_temp." + c.stage
	}
	script := create + "copy " + table + " (" + quoteAll(p.table.Columns) + ") from stdin (format binary); " + then()
	switch {
	case c.session.inTx:
		return script
	case p.returned == nil:
		script += "; commit"
	}
	return "begin; " + script
}

// intoTable moves the rows from the stage to the table.
func (c *copying) intoTable() string {
	sql := c.insertSelect()
	if c.saves() {
		sql = fmt.Sprintf("savepoint %s; %s; release savepoint %[1]s", savepoint, sql)
	}
	if c.session.inTx {
		sql += "; truncate pg_temp." + c.stage
	}
	return sql
}

// altered is what sameTypes finds in place of a number.
const altered = "pgbulk: altered"

// sameTypes is a statement that fails if the table, or the types of its columns, are no longer what
// was described: the same bytes can be valid for both types, so COPY would not notice. It comes
// after COPY, whose lock keeps others from altering the table. It asks for the types of a row's
// fields, for which the server need not search its catalogs. What differs is no integer.
func (c *copying) sameTypes() string {
	types, want := make([]string, len(c.session.enc.columns)), make([]string, len(c.session.enc.columns))
	for i, col := range c.session.enc.columns {
		types[i] = "pg_catalog.pg_typeof((null::" + c.session.plan.layout.relation.name + ")." + quote(col.name) + ")::pg_catalog.oid"
		want[i] = strconv.FormatUint(uint64(c.session.plan.layout.attributes[i].oid), 10)
	}
	return fmt.Sprintf("select nullif(pg_catalog.concat_ws(' ', '%s', '%s'::pg_catalog.regclass::pg_catalog.oid, %s), '%[1]s %[4]s %s')::pg_catalog.int4",
		altered, strings.ReplaceAll(c.session.plan.table.Name.Sanitize(), "'", "''"), strings.Join(types, ", "), c.session.plan.layout.relation.oid, strings.Join(want, " "))
}

// pastCopy follows a COPY that failed with a query, which fails in the aborted transaction. The
// server may have ended the COPY before it had our CopyDone or CopyFail, and ignores them then. A
// PgBouncer from 1.21 on counts them as requests that wait for an answer until the next error, and
// else leaves this connection the server's for good.
func (c *session) pastCopy(ctx context.Context) {
	if s := c.stream; !s.copies || s.answer.copied >= 0 || !s.answer.ready || c.pc.TxStatus() != 'E' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CancelGrace)
	defer cancel()
	c.exec(ctx, "select")
}
