package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/lib/pq" // reads tables back for the proof

	"postage/internal/sys/proc"
	"postage/lab"
	"postage/pgbulk/pgtest"
)

// What the table has when an operation begins.
const (
	phaseInsert = "insert" // no rows: it is emptied before each batch
	phaseUpdate = "update" // all of the rows, with other values
)

// setting is what a case on a real server varies, apart from its rows.
type setting struct {
	workload
	phase       string
	column      string // type of colD
	compression string // compression of colD, or unnamed
	transport   pgtest.Transport
	fsync       bool
}

// unnamed stands for a column declared without a compression, as most are: it has the server's
// default.
const unnamed = "unnamed"

// name returns the case's name.
func (s setting) name() string {
	parts := []string{"Store/peer=postgres", "phase=" + s.phase, fmt.Sprintf("rows=%d", s.rows), "size=" + s.size}
	if s.data != dataLetters {
		parts = append(parts, "data="+s.data)
	}
	if s.data != dataTyped {
		parts = append(parts, "column="+s.column, "compression="+s.compression)
	}
	fsync := map[bool]string{true: "on", false: "off"}[s.fsync]
	return strings.Join(append(parts, "transport="+string(s.transport), "fsync="+fsync), "/")
}

// server is a table of its own on a real server.
type server struct {
	setting
	to      target
	reach   reach
	control *pgx.Conn // for what is not timed
}

func openServer(s setting) func(context.Context, lab.Env) (place, error) {
	return func(ctx context.Context, env lab.Env) (place, error) {
		r, err := reachOf(s.fsync)
		if err != nil {
			return nil, err
		}
		return s.open(ctx, env, r, target{dsn: r.DSN[s.transport], unix: s.transport == pgtest.Unix})
	}
}

// open makes a table on a server.
func (s setting) open(ctx context.Context, env lab.Env, r reach, to target) (place, error) {
	in := &server{setting: s, reach: r, to: to}
	in.to.types, in.to.rows, in.to.table = s.types(s.column), s.draw(env.Seed, 1), fmt.Sprintf("page_%x", rand.Uint64())
	var err error
	if in.control, err = pgx.Connect(ctx, to.dsn); err != nil {
		return nil, err
	}
	if err := in.create(ctx, env.Seed); err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

// define makes the table.
func (s *server) define(ctx context.Context) error {
	var definitions []string
	for i, c := range columnsOf(len(s.to.types)) {
		definitions = append(definitions, `"`+c+`" `+s.to.types[i])
	}
	definitions[0] += " primary key"
	if s.data != dataTyped && s.compression != unnamed {
		definitions[4] += " compression " + s.compression
	}
	_, err := s.control.Exec(ctx, fmt.Sprintf("create table %s (%s)", s.to.table, strings.Join(definitions, ", ")))
	return err
}

// create makes the table, with what it has when an operation begins.
func (s *server) create(ctx context.Context, seed uint64) error {
	if err := s.define(ctx); err != nil || s.phase == phaseInsert {
		return err
	}
	_, err := s.control.CopyFrom(ctx, pgx.Identifier{s.to.table}, columns, pgx.CopyFromRows(s.draw(seed, 2)))
	return err
}

func (s *server) target() *target { return &s.to }

// prepare empties the table if rows must be new. Otherwise it removes the row versions that the last
// batch replaced, so that the table does not grow.
func (s *server) prepare(ctx context.Context) error {
	command := "vacuum "
	if s.phase == phaseInsert {
		command = "truncate "
	}
	_, err := s.control.Exec(ctx, command+s.to.table, pgx.QueryExecModeSimpleProtocol)
	return err
}

const serverChecks = "a different driver (lib/pq) that connects after the write reads the table back: the number of rows and a digest over all columns are right"

func (s *server) prove(ctx context.Context, write func() error) error {
	want := digestOf(s.to.rows, s.to.types[4])
	if n, got, err := s.digest(ctx); err != nil {
		return err
	} else if bytes.Equal(got, want) {
		return fmt.Errorf("the table's %d rows are right before the write", n)
	}
	if err := write(); err != nil {
		return err
	}
	n, got, err := s.digest(ctx)
	switch {
	case err != nil:
		return err
	case n != len(s.to.rows):
		return fmt.Errorf("the table has %d rows, want %d", n, len(s.to.rows))
	case !bytes.Equal(got, want):
		return fmt.Errorf("the table has the right number of rows, and some value in them is wrong (digest %x, want %x)", got[:4], want[:4])
	}
	return nil
}

// digest counts the rows and computes the table's digest.
func (s *server) digest(ctx context.Context) (n int, sum []byte, err error) {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = `"` + c + `"::text`
		if s.to.types[i] == "timestamptz" { // text would depend on the session's time zone and style
			texts[i] = `to_char("` + c + `" at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`
		}
	}
	d := digest{sha256.New()}
	values := make([]sql.RawBytes, len(columns))
	err = s.to.readBack(ctx, strings.Join(texts, ", "), `id::text collate "C"`, func(rows *sql.Rows) error {
		n++
		err := rows.Scan(&values[0], &values[1], &values[2], &values[3], &values[4])
		for _, v := range values {
			d.add(v)
		}
		return err
	})
	return n, d.Sum(nil), err
}

// readBack reads the table's rows, by lib/pq over a connection of its own.
func (t *target) readBack(ctx context.Context, columns, order string, each func(*sql.Rows) error) (err error) {
	db, err := sql.Open("postgres", t.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "select "+columns+" from "+t.table+" order by "+order)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return fmt.Errorf("read back: %w", err)
		}
	}
	return rows.Err()
}

// serverCPU returns the CPU time of a backend process, on this machine.
func (s *server) serverCPU(backend int) (float64, bool, error) {
	if !s.reach.Scratch {
		return 0, false, nil
	}
	cpu, err := proc.CPUOf(backend)
	if errors.Is(err, proc.ErrNotAvailable) {
		return 0, false, nil
	}
	return float64(cpu), err == nil, err
}

func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := s.control.Exec(ctx, "drop table if exists "+s.to.table)
	return errors.Join(err, s.control.Close(ctx))
}

// reach tells a worker how to reach the run's server.
type reach struct {
	DSN     map[pgtest.Transport]string
	Scratch bool // its processes run on this machine
}

// variable is the environment variable that passes a server's reach to workers.
func variable(fsync bool) string {
	if fsync {
		return "POSTAGE_STORE_FSYNC"
	}
	return "POSTAGE_STORE"
}

func reachOf(fsync bool) (r reach, err error) {
	text := os.Getenv(variable(fsync))
	if text == "" {
		return r, fmt.Errorf("there is no server: %s is not set", variable(fsync))
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("%s: %w", variable(fsync), err)
	}
	return r, nil
}
