package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"postage/pgbulk/pgtest"
)

// Place is where another stage's rows go: the sink, or a table of its own on the run's server. The
// first value of a row is its key, an int8.
type Place struct {
	place
	sink *sink // nil for a server
}

// OpenSink starts a sink that takes rows whose values have these types.
func OpenSink(ctx context.Context, types []string) (*Place, error) {
	oids, m := map[string]uint32{}, pgtype.NewMap()
	for i, c := range columnsOf(len(types)) {
		known, _ := m.TypeForName(types[i])
		oids[c] = known.OID
	}
	s, err := startSink(ctx, oids, pgtest.Unix)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s.to.types = types
	return &Place{s, s}, nil
}

// OpenTable makes a table with these rows on the server of the cases that have a service.
func OpenTable(ctx context.Context, types []string, rows [][]any) (_ *Place, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store: %w", err)
		}
	}()
	s := &server{setting: setting{phase: phaseUpdate, compression: unnamed}}
	if s.reach, err = reachOf(false); err != nil {
		return nil, err
	}
	s.to = target{dsn: s.reach.DSN[pgtest.Unix], types: types, unix: true, table: fmt.Sprintf("page_%x", rand.Uint64())}
	if s.control, err = pgx.Connect(ctx, s.to.dsn); err != nil {
		return nil, err
	}
	if err = s.define(ctx); err == nil {
		_, err = s.control.CopyFrom(ctx, pgx.Identifier{s.to.table}, columnsOf(len(types)), pgx.CopyFromRows(rows))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &Place{s, nil}, nil
}

// An Address tells OpenCall, in whatever process, where the rows go.
type Address struct {
	DSN, Table string
	Types      []string
}

// Address returns the place's.
func (p *Place) Address() Address { t := p.target(); return Address{t.dsn, t.table, t.types} }

// Prepare removes the row versions that writes have replaced. It is called between batches.
func (p *Place) Prepare() error { return p.prepare(context.Background()) }

// BackendCPU is the CPU time of the server's process for a connection. It is not known of a sink,
// which does no server's work, and of a server on another machine.
func (p *Place) BackendCPU(backend int) (time.Duration, bool, error) {
	if p.sink != nil {
		return 0, false, nil
	}
	ns, known, err := p.serverCPU(backend)
	return time.Duration(ns), known, err
}

// Close drops the table, or ends the sink.
func (p *Place) Close() error { return p.close() }

// Stored has write write rows, and returns those that another reader finds then, by their keys: in
// what the sink has received, as pgproto3 parses it, or in the table, as lib/pq reads it. Values
// are of the types that database/sql has.
func (p *Place) Stored(ctx context.Context, write func() error) ([][]any, error) {
	if p.sink == nil {
		if err := write(); err != nil {
			return nil, err
		}
		return p.readTable(ctx)
	}
	received, err := p.sink.received(write)
	if err != nil {
		return nil, err
	}
	return boundRows(received, p.target().types)
}

func (p *Place) readTable(ctx context.Context) (found [][]any, err error) {
	t := p.target()
	err = t.readBack(ctx, quoted(columnsOf(len(t.types))), "id", func(rows *sql.Rows) error {
		row, to := make([]any, len(t.types)), make([]any, len(t.types))
		for i := range row {
			to[i] = &row[i]
		}
		found = append(found, row)
		return rows.Scan(to...)
	})
	return found, err
}

// boundRows are the rows in the Bind messages that a client has sent.
func boundRows(received []byte, types []string) (found [][]any, err error) {
	reader, m := pgproto3.NewBackend(bytes.NewReader(received), io.Discard), pgtype.NewMap()
	for {
		message, err := reader.Receive()
		if errors.Is(err, io.ErrUnexpectedEOF) && len(found) > 0 {
			slices.SortFunc(found, func(a, b []any) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("what the sink received: %w", err)
		}
		bind, ok := message.(*pgproto3.Bind)
		if !ok || len(bind.Parameters)%len(types) != 0 {
			continue
		}
		if rows, ok := unnested(bind, types, m); ok {
			found = append(found, rows...)
			continue
		}
		for first := 0; first < len(bind.Parameters); first += len(types) {
			row := make([]any, len(types))
			for i, name := range types {
				known, _ := m.TypeForName(name)
				if row[i], err = known.Codec.DecodeDatabaseSQLValue(m, known.OID, formatOf(bind, first+i), bind.Parameters[first+i]); err != nil {
					return nil, fmt.Errorf("what the sink received as %s: %w", columnsOf(len(types))[i], err)
				}
			}
			found = append(found, row)
		}
	}
}

// unnested are the rows of a statement that has an array for each column.
func unnested(bind *pgproto3.Bind, types []string, m *pgtype.Map) (rows [][]any, ok bool) {
	if len(bind.Parameters) != len(types) {
		return nil, false
	}
	for i, name := range types {
		array, _ := m.TypeForName("_" + name)
		v, err := array.Codec.DecodeValue(m, array.OID, formatOf(bind, i), bind.Parameters[i])
		values, ok := v.([]any)
		if i == 0 {
			rows = make([][]any, len(values))
		}
		if err != nil || !ok || len(values) != len(rows) {
			return nil, false
		}
		for j, v := range values {
			rows[j] = append(rows[j], v)
		}
	}
	return rows, true
}

// formatOf is the format of a parameter: there is a code for each, one for all, or none for text.
func formatOf(bind *pgproto3.Bind, i int) int16 {
	switch codes := bind.ParameterFormatCodes; len(codes) {
	case 0:
		return pgtype.TextFormatCode
	case 1:
		return codes[0]
	default:
		return codes[i]
	}
}

// Call is an open way to store rows that are others each time. It is for one goroutine.
type Call struct {
	to     target
	writer *writer
}

// calls are the ways that exist for rows that are others each time.
func calls() []*contender {
	return []*contender{
		execEach(baseline, pgxModule, byPgx),
		execEach("lib=pgbulk/call=exec", "", byBulk),
		pgxBatch("upsert"),
		bulk("upsert/strategy=auto"),
		precomputed(""),
	}
}

// OpenCall opens a call, by the name that its rows have, to a place's address. The floor writes the
// rows that are given here, whatever it is given later; the others need them only for their number.
func OpenCall(ctx context.Context, name string, to Address, rows [][]any) (*Call, error) {
	c := &Call{to: target{dsn: to.DSN, table: to.Table, types: to.Types, unix: true, rows: rows}}
	for _, way := range calls() {
		if way.name != name {
			continue
		}
		var err error
		if c.writer, err = way.connect(ctx, &c.to); err != nil {
			return nil, fmt.Errorf("store: %s: %w", name, err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("store: there is no call %q for rows that change", name)
}

// Write writes rows.
func (c *Call) Write(rows [][]any) error {
	c.to.rows = rows
	return c.writer.write()
}

// Backend is the id of the server's process.
func (c *Call) Backend() int { return c.writer.backend }

// Close closes the connection.
func (c *Call) Close() error { return c.writer.close() }

// execEach is a call of one statement, which is written anew where the number of rows differs.
func execEach(name, module string, by func(context.Context, db, statement) error) *contender {
	return &contender{name: name, module: module, pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
		var s statement
		return func(ctx context.Context) error {
			if len(s.args) != len(t.rows)*len(t.types) {
				s = t.statements()[0]
			}
			for i, row := range t.rows {
				copy(s.args[i*len(t.types):], row)
			}
			return by(ctx, conn, s)
		}, nil
	}}
}
