package pgbulk

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Exec runs one statement, like pgx's Exec, with its parameters streamed: large strings and byte
// slices go to the socket without a copy, small ones through a buffer of 64 KB. Other values are
// encoded first, by the connection's type map, and are held until they are sent. Rows that the
// statement returns are discarded. COPY ... FROM STDIN is an error: use Insert.
//
// The server is asked for the parameters' types first. With the connection's DefaultQueryExecMode
// cache_describe and cache_statement the answer is kept for the next call with the same text, the
// last 32 of them; with cache_statement the statement is prepared too. All modes are safe behind a
// pooler that gives each transaction another backend: a statement that an earlier exchange parsed
// is run only by a name made from its text and types. With cache_statement a call in a transaction
// can fail behind such a pooler, with SQLSTATE 26000 and without having run.
//
// As with pgx, the first arguments may be a pgx.QueryExecMode, for this call, and a
// pgx.QueryRewriter, such as pgx.NamedArgs. The error is an *Error, whose Column is the parameter,
// such as "$3".
func Exec(ctx context.Context, db DB, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	conn, release, err := acquire(ctx, db)
	if err != nil {
		return pgconn.CommandTag{}, newError("exec", "", err)
	}
	defer release()
	ctx, ended := traceQuery(ctx, conn, func() string { return sql }, args)
	defer func() { ended(tag, err) }()
	known, rewriter := connectionOf(conn), pgx.QueryRewriter(nil)
	mode := known.mode
options:
	for len(args) > 0 {
		switch option := args[0].(type) {
		case pgx.QueryExecMode:
			mode = option
		case pgx.QueryRewriter:
			rewriter = option
		default:
			break options
		}
		args = args[1:]
	}
	b := pool.Get().(*buffers)
	defer b.put()
	if rewriter != nil {
		sql, args, err = rewriter.RewriteQuery(ctx, conn, sql, args)
	}
	uncertain := false
	if err == nil {
		tag, uncertain, err = known.prepared.exec(ctx, conn, b, mode, sql, args)
	}
	if err == nil {
		return tag, nil
	}
	e := newError("exec", "", err)
	e.Closed, e.Uncertain = conn.PgConn().IsClosed(), uncertain
	if pgErr, ok := asType[*pgconn.PgError](err); ok && e.Column == "" {
		if n, ok := bindPosition(pgErr); ok && n <= len(args) {
			e.Column = fmt.Sprintf("$%d", n)
		}
	}
	return pgconn.CommandTag{}, e
}

// exec runs a statement. If what was known of it is outdated, so that it fails before it has run,
// it is run again, once.
func (all *prepared) exec(ctx context.Context, conn *pgx.Conn, b *buffers, mode pgx.QueryExecMode, sql string, args []any) (tag pgconn.CommandTag, uncertain bool, err error) {
	pc := conn.PgConn()
	inTx := pc.TxStatus() == 'T'
	for attempt := 0; ; attempt++ {
		st, known, err := all.describe(ctx, conn, b, mode, sql)
		if err != nil {
			return tag, false, err
		}
		if err := b.encodeArgs(conn, st, args); err != nil {
			if known && len(args) == len(st.types) && pc.TxStatus() != 'E' {
				all.forget(st) // perhaps a parameter has another type by now
				continue
			}
			return tag, false, err
		}
		s := open(ctx, pc, b)
		all.parse(s, st)
		s.wire.bind(st.name, b.formats, len(args), b.chunk.size())
		b.chunk.write(&s.wire, 0, 1)
		s.wire.execute()
		s.sync()
		err = s.close(ctx)
		st.parsed = st.parsed || st.name != "" && s.answer.parsed
		if err == nil {
			return s.answer.tag, false, nil
		}
		if pgErr, ok := asType[*pgconn.PgError](err); ok && known {
			if !s.answer.bound && all.outdated(st, pgErr) && attempt == 0 && pc.TxStatus() == 'I' && !pc.IsClosed() {
				continue
			}
			if inTx && pgErr.Code == noStatement {
				err = fmt.Errorf("%w: the statement was not run, because a pooler has given the connection another backend: with default_query_exec_mode=cache_describe this does not happen", err)
			}
		}
		return tag, s.uncertain() && !inTx, err
	}
}

// encodeArgs makes the arguments the only row of the chunk, in the formats that they have then.
//
// As in pgx, a string is text whatever the parameter's type: the server parses it.
func (b *buffers) encodeArgs(conn *pgx.Conn, st *statement, args []any) error {
	if len(args) != len(st.types) {
		return fmt.Errorf("%d arguments for %d parameters", len(args), len(st.types))
	}
	e := encoder{m: conn.TypeMap(), columns: st.params, either: true}
	b.chunk.reset(0)
	for i, v := range args {
		c := &e.columns[i]
		if s, null, ok := textOf(v); ok && !null && len(s) < maxValue {
			c.shape, c.format = shapeText, textFormat
			b.chunk.plain(c, s, len(s) >= minSent)
			continue
		}
		c.shape, c.format = st.shapes[i], textFormat
		if _, plain := c.shape.plain(v); !plain || c.shape == shapeBytea {
			if c.format = e.m.FormatCodeForOID(c.oid); c.shape >= shapeInt2 || c.shape == shapeBytea {
				c.format = binaryFormat
			}
		}
		if err := e.addValue(&b.chunk, i, v, true); err != nil {
			return &rowError{-1, c.name, err}
		}
	}
	b.chunk.endRow()
	b.formats = b.formats[:0]
	for _, c := range e.columns {
		b.formats = append(b.formats, byte(c.format))
	}
	if size := b.chunk.size(); size+bindOverhead+2*len(args) > maxValue {
		return fmt.Errorf("parameters of %d bytes: %w", size, ErrTooLarge)
	}
	return nil
}
