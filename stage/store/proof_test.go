package store

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"postage/lab"
	"postage/pgbulk/pgtest"
)

// spoilers are mistakes that a contender could make, with what the proofs on a server and at the
// sink say about them.
var spoilers = []struct {
	what         string
	spoil        func(rows [][]any) [][]any
	server, sink string
}{
	{"a row dropped", func(rows [][]any) [][]any { return rows[1:] }, "some value in them is wrong", "id of row 0"},
	{"the last row dropped", func(rows [][]any) [][]any { return rows[:len(rows)-1] }, "some value in them is wrong", "id of row 19"},
	{"a byte changed", func(rows [][]any) [][]any {
		row := slices.Clone(rows[7])
		document := []byte(row[4].(string))
		document[5000] ^= 1
		row[4] = string(document)
		rows[7] = row
		return rows
	}, "some value in them is wrong", "colD of row 7"},
	{"two columns exchanged", func(rows [][]any) [][]any {
		row := slices.Clone(rows[7])
		row[1], row[2] = row[2], row[1]
		rows[7] = row
		return rows
	}, "some value in them is wrong", ""},
	{"nothing written", func([][]any) [][]any { return nil }, "some value in them is wrong", "id of row 0"},
	{"a row more", func(rows [][]any) [][]any {
		return append(rows, []any{"1", "2", "3", "4", `{ "foo": "` + strings.Repeat("x", 80_000) + `" }`})
	}, "the table has 21 rows, want 20", "more than"},
}

// A contender that does not write the rows unchanged fails its proof.
func TestProofFails(t *testing.T) {
	w := workload{rows: 20, size: "16KB", letters: 16384}
	for _, s := range spoilers {
		t.Run("sink/"+s.what, func(t *testing.T) {
			if s.sink == "" {
				t.Skip("the sink cannot tell")
			}
			spoiled(t, openSink(w, pgtest.Unix), s.spoil, s.sink)
		})
		t.Run("server/"+s.what, func(t *testing.T) {
			if noServer != nil {
				t.Skip(noServer)
			}
			update := setting{workload: w, phase: phaseUpdate, column: "jsonb", compression: "pglz", transport: pgtest.Unix}
			spoiled(t, openServer(update), s.spoil, s.server)
			insert := update
			insert.phase, insert.column = phaseInsert, "text"
			want := s.server
			if s.what == "a row dropped" || s.what == "the last row dropped" {
				want = "the table has 19 rows, want 20"
			} else if s.what == "nothing written" {
				want = "the table has 0 rows, want 20"
			}
			spoiled(t, openServer(insert), s.spoil, want)
		})
	}
}

// spoiled proves a contender that writes rows with a mistake.
func spoiled(t *testing.T, open func(context.Context, lab.Env) (place, error), spoil func([][]any) [][]any, want string) {
	t.Helper()
	ctx := context.Background()
	p, err := open(ctx, lab.Env{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	to := *p.target()
	to.rows = spoil(slices.Clone(to.rows))
	var w *writer
	if len(to.rows) == 0 {
		w = &writer{write: func() error { return nil }, close: func() error { return nil }}
	} else if w, err = pgxExec("").connect(ctx, &to); err != nil {
		t.Fatal(err)
	}
	in := &instance{contender: &contender{}, place: p, writer: w}
	if err := in.Prove(ctx); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the proof says %v, want %q", err, want)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// A wrong Bind message fails its proof.
func TestProofOfDirectFails(t *testing.T) {
	d := newDirect(workload{rows: 20, letters: 100}, 7)
	for name, spoil := range map[string]func(m []byte) []byte{
		"statement":    func(m []byte) []byte { m[7] ^= 1; return m },
		"a value":      func(m []byte) []byte { m[len(m)-20] ^= 1; return m },
		"a byte less":  func(m []byte) []byte { return m[:len(m)-1] },
		"stale length": func(m []byte) []byte { m[4]++; return m },
		"a format":     func(m []byte) []byte { m[len(m)-1] = 1; return m },
	} {
		encode := func(dst []byte, statement string, parameters [][]byte) ([]byte, error) {
			m, err := (&pgproto3.Bind{PreparedStatement: statement, Parameters: parameters}).Encode(dst)
			return spoil(m), err
		}
		d.writer = &writer{write: func() (err error) { d.message, err = encode(nil, d.name, d.parameters); return err }}
		if err := d.Prove(context.Background()); err == nil {
			t.Errorf("%s: the proof holds", name)
		}
	}
}

// Rows that a server does not support are not possible, and say why.
func TestServes(t *testing.T) {
	const lz4 = "Store/peer=postgres/column=text/compression=lz4/transport=unix/fsync=off"
	const pglz = "Store/peer=postgres/column=text/compression=pglz/transport=unix/fsync=off"
	for _, r := range []struct {
		can     abilities
		name    string
		scratch bool
		want    string
	}{
		{abilities{version: "13.2"}, lz4, true, "PostgreSQL 13.2 has no column compression"},
		{abilities{version: "13.2"}, pglz, true, "PostgreSQL 13.2 has no column compression"},
		{abilities{version: "15.1", compression: true}, lz4, true, "has no lz4"},
		{abilities{compression: true}, pglz, true, ""},
		{abilities{compression: true, lz4: true}, lz4, true, ""},
		{abilities{compression: true, fsync: "on", transport: "unix"}, pglz, false, "has fsync on"},
		{abilities{compression: true, fsync: "off", transport: "tcp"}, pglz, false, "reached by transport=tcp"},
		{abilities{compression: true, fsync: "off", transport: "unix"}, pglz, false, ""},
		{abilities{compression: true, fsync: "on", transport: "tcp"}, "Route/msgs=1/peer=postgres", false, ""},
	} {
		err := r.can.serve(r.name, r.scratch)
		if r.want == "" && err != nil || r.want != "" && (err == nil || !strings.Contains(err.Error(), r.want)) {
			t.Errorf("%+v on %s: %v, want %q", r.can, r.name, err, r.want)
		}
	}
}
