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

// A Row is one of a stage that stores messages: a key, what the message is looked up by, and the
// message itself.
type Row struct {
	ID      int64
	Text    string
	A, B    int64
	Message []byte
}

// A Column is the type of a message's column.
type Column string

// Columns of messages: any bytes, or JSON.
const (
	Bytea Column = "bytea"
	JSONB Column = "jsonb"
)

// types are the types of the columns of a Row.
func (c Column) types() []string { return []string{"int8", "text", "int8", "int8", string(c)} }

// oids are the types' numbers on the wire; with the prefix "_" they are those of arrays.
func (c Column) oids(m *pgtype.Map, prefix string) (oids []uint32) {
	for _, name := range c.types() {
		known, _ := m.TypeForName(prefix + name)
		oids = append(oids, known.OID)
	}
	return oids
}

// Values are the row's, in the order of the columns.
func (r *Row) Values() []any { return []any{r.ID, r.Text, r.A, r.B, r.Message} }

// Place is where another stage's rows go: the sink, or a table of its own on the run's server.
type Place struct {
	place
	column Column
	sink   *sink // nil for a server
}

// OpenSink starts a sink that takes messages in a column.
func OpenSink(ctx context.Context, column Column) (*Place, error) {
	oids := map[string]uint32{}
	for i, oid := range column.oids(pgtype.NewMap(), "") {
		oids[columns[i]] = oid
	}
	s, err := startSink(ctx, oids, pgtest.Unix)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s.to.types = column.types()
	return &Place{s, column, s}, nil
}

// OpenTable makes a table with these rows on the server of the cases that have a service.
func OpenTable(ctx context.Context, column Column, rows []Row) (_ *Place, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store: %w", err)
		}
	}()
	s := &server{setting: setting{phase: phaseUpdate, compression: unnamed}}
	if s.reach, err = reachOf(false); err != nil {
		return nil, err
	}
	s.to = target{dsn: s.reach.dsn(pgtest.Unix), types: column.types(), unix: true, table: fmt.Sprintf("page_%x", rand.Uint64())}
	if s.control, err = pgx.Connect(ctx, s.to.dsn); err != nil {
		return nil, err
	}
	if err = s.define(ctx); err == nil {
		_, err = s.control.CopyFrom(ctx, pgx.Identifier{s.to.table}, columns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return rows[i].Values(), nil }))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &Place{s, column, nil}, nil
}

// An Address tells OpenCall, in whatever process, where the rows go.
type Address struct {
	DSN, Table string
	Column     Column
}

// Address returns the place's.
func (p *Place) Address() Address { t := p.target(); return Address{t.dsn, t.table, p.column} }

// Prepare removes the row versions that writes have replaced. It is called between batches.
func (p *Place) Prepare() error { return p.prepare(context.Background()) }

// BackendCPU is the CPU time of the server's processes for these connections. It is not known of
// a sink, which does no server's work, and of a server on another machine.
func (p *Place) BackendCPU(backends []int) (time.Duration, bool, error) {
	if p.sink != nil {
		return 0, false, nil
	}
	ns, known, err := p.serverCPU(backends)
	return time.Duration(ns), known, err
}

// Close drops the table, or ends the sink.
func (p *Place) Close() error { return p.close() }

// Stored has write write rows, and returns those that another reader finds then, by their ids: in
// what the sink has received, as pgproto3 parses it, or in the table, as lib/pq reads it.
func (p *Place) Stored(ctx context.Context, write func() error) ([]Row, error) {
	if p.sink == nil {
		if err := write(); err != nil {
			return nil, err
		}
		return p.readTable(ctx)
	}
	received, _, err := p.sink.received("capture", write)
	if err != nil {
		return nil, err
	}
	return boundRows(received, p.column)
}

func (p *Place) readTable(ctx context.Context) (found []Row, err error) {
	err = p.target().readBack(ctx, quoted(), "id", func(rows *sql.Rows) error {
		var r Row
		err := rows.Scan(&r.ID, &r.Text, &r.A, &r.B, &r.Message)
		found = append(found, r)
		return err
	})
	return found, err
}

// boundRows are the rows in the Bind messages that a client has sent.
func boundRows(received []byte, c Column) (found []Row, err error) {
	reader, types := pgproto3.NewBackend(bytes.NewReader(received), io.Discard), pgtype.NewMap()
	oids := c.oids(types, "")
	for {
		m, err := reader.Receive()
		if errors.Is(err, io.ErrUnexpectedEOF) && len(found) > 0 {
			slices.SortFunc(found, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("what the sink received: %w", err)
		}
		bind, ok := m.(*pgproto3.Bind)
		if !ok || len(bind.Parameters)%len(columns) != 0 {
			continue
		}
		if rows, ok := unnested(bind, c, types); ok {
			found = append(found, rows...)
			continue
		}
		for first := 0; first < len(bind.Parameters); first += len(columns) {
			var r Row
			for i, to := range []any{&r.ID, &r.Text, &r.A, &r.B, &r.Message} {
				if err := types.Scan(oids[i], formatOf(bind, first+i), bind.Parameters[first+i], to); err != nil {
					return nil, fmt.Errorf("what the sink received as %s: %w", columns[i], err)
				}
			}
			found = append(found, r)
		}
	}
}

// unnested are the rows of a statement that has an array for each column.
func unnested(bind *pgproto3.Bind, c Column, types *pgtype.Map) (rows []Row, ok bool) {
	var ids, as, bs []int64
	var texts []string
	var messages [][]byte
	if len(bind.Parameters) != len(columns) {
		return nil, false
	}
	oids := c.oids(types, "_")
	for i, to := range []any{&ids, &texts, &as, &bs, &messages} {
		if types.Scan(oids[i], formatOf(bind, i), bind.Parameters[i], to) != nil {
			return nil, false
		}
	}
	if n := len(ids); len(texts) != n || len(as) != n || len(bs) != n || len(messages) != n {
		return nil, false
	}
	for i := range ids {
		rows = append(rows, Row{ids[i], texts[i], as[i], bs[i], messages[i]})
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
		pgxBatch(),
		bulk("upsert/strategy=auto"),
		precomputed(""),
	}
}

// OpenCall opens a call, by the name that its rows have, to a place's address. The floor writes the
// rows that are given here, whatever it is given later; the others need them only for their number.
func OpenCall(ctx context.Context, name string, to Address, rows [][]any) (*Call, error) {
	c := &Call{to: target{dsn: to.DSN, table: to.Table, types: to.Column.types(), unix: true, rows: rows}}
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

// Write writes rows of the values of a [Row].
func (c *Call) Write(rows [][]any) error {
	c.to.rows = rows
	return c.writer.write()
}

// Backends are the ids of the server's processes.
func (c *Call) Backends() []int { return c.writer.backends }

// Close closes the connection.
func (c *Call) Close() error { return c.writer.close() }

// execEach is a call of one statement, which is written anew where the number of rows differs.
func execEach(name, module string, by func(context.Context, db, statement) error) *contender {
	return &contender{name: name, module: module, pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
		var s statement
		return func(ctx context.Context) error {
			if len(s.args) != len(t.rows)*len(columns) {
				s = statements(t.table, t.rows)[0]
			}
			for i, row := range t.rows {
				copy(s.args[i*len(columns):], row)
			}
			return by(ctx, conn, s)
		}, nil
	}}
}
