package pgbulk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
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
// pgx.QueryRewriter, such as pgx.NamedArgs. The error is an *Error,
// whose Column is the parameter, such as "$3".
func Exec(ctx context.Context, db DB, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	conn, release, err := acquire(ctx, db)
	if err != nil {
		return pgconn.CommandTag{}, newError("exec", "", err)
	}
	defer release()
	ctx, ended := traceQuery(ctx, conn, sql, args)
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
	defer func() { ended(tag, err) }()
	pc := conn.PgConn()
	fail := func(err error) (pgconn.CommandTag, error) {
		e := newError("exec", "", err)
		e.Closed = pc.IsClosed()
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && e.Column == "" {
			if n, ok := bindPosition(pgErr); ok && n <= len(args) {
				e.Column = fmt.Sprintf("$%d", n)
			}
		}
		return pgconn.CommandTag{}, e
	}
	if rewriter != nil {
		if sql, args, err = rewriter.RewriteQuery(ctx, conn, sql, args); err != nil {
			return fail(err)
		}
	}
	inTx := pc.TxStatus() == 'T'
	b := pool.Get().(*buffers)
	defer b.put()
	for attempt := 0; ; attempt++ {
		st, known, err := all.statement(ctx, conn, mode, sql, b)
		if err != nil {
			return fail(err)
		}
		x := &execution{m: conn.TypeMap(), st: st, args: args, buffers: b}
		size, err := x.measure()
		if err != nil {
			return fail(err)
		}
		s := open(ctx, pc, b)
		x.send(s, all, size)
		err = s.close()
		if st.name != "" && s.parsed {
			st.parsed = true
		}
		if err == nil {
			return s.tag, nil
		}
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && known {
			what := staleness(pgErr)
			switch what {
			case lost:
				if all.lose(st); inTx {
					err = fmt.Errorf("%w: the statement was not run, because a pooler has given the connection another backend: with default_query_exec_mode=cache_describe this does not happen", err)
				}
			case outdated:
				st.parsed = false
			case misjudged:
				all.forget(st)
			}
			// Without an answer to Bind nothing has run.
			if what != fresh && attempt == 0 && !s.bound && pc.TxStatus() == 'I' && !pc.IsClosed() {
				continue
			}
		}
		_, result := fail(err)
		result.(*Error).Uncertain = s.uncertain() && !inTx
		return pgconn.CommandTag{}, result
	}
}

// execution is one run of a statement.
type execution struct {
	m    *pgtype.Map
	st   *statement
	args []any
	*buffers
}

// direct returns the bytes of an argument that needs no codec, and the format that they are in.
//
// As in pgx, a string is text whatever the parameter's type: the server parses it.
func (x *execution) direct(i int) (s string, format byte, ok bool) {
	switch v := x.args[i].(type) {
	case string:
		return v, textFormat, true
	case *string:
		if v != nil {
			return *v, textFormat, true
		}
	}
	h := x.st.shapes[i]
	if s, ok = h.plain(x.args[i]); ok && h == shapeBytea {
		format = binaryFormat
	}
	return s, format, ok
}

// measure adds up what the parameters take in the Bind message, in bytes. Arguments that need a
// codec are left encoded in values, with their lengths before them.
func (x *execution) measure() (size int, err error) {
	if len(x.args) != len(x.st.types) {
		return 0, fmt.Errorf("%d arguments for %d parameters", len(x.args), len(x.st.types))
	}
	x.formats, x.values = x.formats[:0], x.values[:0]
	for i := range x.args {
		s, format, ok := x.direct(i)
		n := len(s)
		if !ok {
			if n, format, err = x.encode(i); err != nil {
				return 0, &rowError{row: -1, column: fmt.Sprintf("$%d", i+1), err: err}
			}
		}
		if n > maxValue {
			return 0, &rowError{row: -1, column: fmt.Sprintf("$%d", i+1), err: tooLarge(n)}
		}
		x.formats = append(x.formats, format)
		size += 4 + n
	}
	if total := size + bindOverhead + 2*len(x.args) + len(x.st.name); total > maxValue {
		return 0, fmt.Errorf("parameters of %d bytes: %w", size, ErrTooLarge)
	}
	return size, nil
}

// encode appends an argument's length and value to values. Like pgx, it prefers the type's own
// format and falls back to the other.
func (x *execution) encode(i int) (n int, format byte, err error) {
	e := encoder{m: x.m}
	c := column{oid: x.st.types[i], format: x.m.FormatCodeForOID(x.st.types[i])}
	start := len(x.values)
	head := append(x.values, 0xff, 0xff, 0xff, 0xff)
	out, err := e.encodeAs(&c, c.format, x.args[i], head)
	if err != nil {
		other := 1 - c.format
		var otherErr error
		if out, otherErr = e.encodeAs(&c, other, x.args[i], head); otherErr != nil {
			return 0, 0, err
		}
		c.format = other
	}
	if out == nil {
		x.values = head
		return 0, byte(c.format), nil
	}
	n = len(out) - start - 4
	if n <= maxValue {
		binary.BigEndian.PutUint32(out[start:], uint32(n))
	}
	x.values = out
	return n, byte(c.format), nil
}

// send writes the exchange. A statement that is not known to be there is parsed in it, after the
// end of what has its name.
func (x *execution) send(s *stream, all *statements, size int) {
	if !x.st.parsed {
		for _, name := range all.gone {
			s.about('C', name)
		}
		all.gone = all.gone[:0]
		if x.st.name != "" {
			s.about('C', x.st.name)
		}
		s.parseAs(x.st.name, []byte(x.st.sql), x.st.types, len(x.st.types))
	}
	s.bind(x.st.name, x.formats, len(x.args), size)
	encoded := x.values
	for i := range x.args {
		if p, _, ok := x.direct(i); ok {
			s.int32(len(p))
			s.refer(p)
			continue
		}
		n := 4 + max(0, int(int32(binary.BigEndian.Uint32(encoded))))
		s.bytes(encoded[:n])
		encoded = encoded[n:]
	}
	s.execute()
	s.sync()
}
