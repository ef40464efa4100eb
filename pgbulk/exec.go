package pgbulk

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
// last 32 of them. The statement is parsed in the same exchange that runs it, so that all modes are
// safe behind a pooler that gives each transaction another backend.
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
	all, rewriter := statementsOf(conn), pgx.QueryRewriter(nil)
	mode := all.mode
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
	keep := mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe
	uncertain := false
	if err == nil {
		tag, uncertain, err = all.exec(ctx, conn, b, keep, sql, args)
	}
	if err == nil {
		return tag, nil
	}
	e := newError("exec", "", err)
	e.Closed, e.Uncertain = conn.PgConn().IsClosed(), uncertain
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && e.Column == "" {
		if n, ok := bindPosition(pgErr); ok && n <= len(args) {
			e.Column = fmt.Sprintf("$%d", n)
		}
	}
	return pgconn.CommandTag{}, e
}

// statement is the text of a statement and what its parameters are.
type statement struct {
	sql    string
	types  []uint32
	params []column
}

// statements are those that a connection knows, the one used last at the end. They live in the
// connection's custom data.
type statements struct {
	list []*statement
	mode pgx.QueryExecMode
}

const (
	statementsKey = "postage/pgbulk statements"
	keptPerConn   = 32
)

func statementsOf(conn *pgx.Conn) *statements {
	data := conn.PgConn().CustomData()
	all, ok := data[statementsKey].(*statements)
	if !ok {
		all = &statements{mode: conn.Config().DefaultQueryExecMode}
		data[statementsKey] = all
	}
	return all
}

// describe returns the statement of a text, and whether it was known before.
func (all *statements) describe(ctx context.Context, conn *pgx.Conn, b *buffers, keep bool, sql string) (st *statement, known bool, err error) {
	if i := slices.IndexFunc(all.list, func(s *statement) bool { return s.sql == sql }); keep && i >= 0 {
		st := all.list[i]
		all.list = append(slices.Delete(all.list, i, i+1), st)
		return st, true, nil
	}
	s := open(ctx, conn.PgConn(), b)
	s.asked = new(asked)
	s.parse(sql, nil, 0)
	s.message('D', "S")
	s.sync()
	if err := s.close(ctx); err != nil {
		return nil, false, err
	}
	st = &statement{sql: sql, types: s.asked.params}
	for i, oid := range st.types {
		st.params = append(st.params, column{name: fmt.Sprintf("$%d", i+1), oid: oid, shape: shapeOf(conn.TypeMap(), oid)})
	}
	if keep {
		all.list = append(all.list[max(0, len(all.list)-keptPerConn+1):], st)
	}
	return st, false, nil
}

// exec runs a statement. One that was known before is described again, once, if it fails before it
// has run: its parameters may have changed their types.
func (all *statements) exec(ctx context.Context, conn *pgx.Conn, b *buffers, keep bool, sql string, args []any) (tag pgconn.CommandTag, uncertain bool, err error) {
	pc := conn.PgConn()
	inTx := pc.TxStatus() == 'T'
	for {
		st, known, err := all.describe(ctx, conn, b, keep, sql)
		if err != nil {
			return tag, false, err
		}
		if err := b.encodeArgs(conn, st, args); err != nil {
			return tag, false, err
		}
		s := open(ctx, pc, b)
		s.parse(sql, st.types, len(args))
		s.bind(b.formats, len(args), b.chunk.size())
		b.chunk.write(&s.wire, 0, 1)
		s.execute()
		s.sync()
		if err = s.close(ctx); err == nil {
			return s.tag, false, nil
		}
		// Class 42 is syntax error or access rule violation.
		pgErr, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || !known || len(pgErr.Code) != 5 || pgErr.Code[:2] != "42" {
			return tag, s.uncertain() && !inTx, err
		}
		all.list = slices.DeleteFunc(all.list, func(s *statement) bool { return s == st })
		if s.bound || pc.TxStatus() != 'I' || pc.IsClosed() {
			return tag, false, err
		}
	}
}

// encodeArgs makes the arguments the only row of the chunk, in the formats that they have then.
//
// As in pgx, a string is text whatever the parameter's type: the server parses it.
func (b *buffers) encodeArgs(conn *pgx.Conn, st *statement, args []any) error {
	if len(args) != len(st.types) {
		return fmt.Errorf("%d arguments for %d parameters", len(args), len(st.types))
	}
	e := encoder{m: conn.TypeMap(), columns: slices.Clone(st.params), either: true}
	for i, v := range args {
		c := &e.columns[i]
		if _, null, ok := textOf(v); ok && !null {
			c.shape = shapeText
		} else if _, plain := c.shape.plain(v); !plain || c.shape == shapeBytea {
			if c.format = e.m.FormatCodeForOID(c.oid); c.shape >= shapeInt2 || c.shape == shapeBytea {
				c.format = binaryFormat
			}
		}
	}
	b.chunk.reset(0)
	if err := e.add(&b.chunk, args, true); err != nil {
		err.(*rowError).row = -1
		return err
	}
	b.formats = b.formats[:0]
	for _, c := range e.columns {
		b.formats = append(b.formats, byte(c.format))
	}
	if size := b.chunk.size(); size+bindOverhead+2*len(args) > maxValue {
		return fmt.Errorf("parameters of %d bytes: %w", size, ErrTooLarge)
	}
	return nil
}
