package store

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/lab"
	"postage/pgbulk"
	"postage/pgbulk/pgtest"
	"postage/record"
)

// In the slice "memory", rows come from a source that makes them one by one, like a service that
// reads a file or another database. Does writing them take the memory of one row, or of all rows?

// volume is the total size of a case's rows.
type volume struct {
	name string
	rows int // of 16 KB
}

// memoryCase returns the slice's case. A row's document has that many letters.
func memoryCase(v volume, letters int) lab.Case {
	c := lab.Case{
		Name:     fmt.Sprintf("Store/peer=sink/slice=memory/volume=%s/rows=%d/transport=unix", v.name, v.rows),
		Doc:      "How much memory does the client take for an upsert of " + v.name + " of rows that come one by one? (peak-rss-B)",
		Batch:    30 * time.Millisecond * time.Duration(1+v.rows/1500),
		Baseline: baseline,
		Value:    record.ValueWall,
	}
	for _, contender := range memoryContenders() {
		c.Contenders = append(c.Contenders, contender.row(openFlood(v.rows, letters), floodChecks, ""))
	}
	return c
}

// memoryContenders take their rows from the target's source. Those that need all rows of a
// statement at the same time collect as many as a statement can have.
func memoryContenders() []*contender {
	return []*contender{
		{name: baseline, module: pgxModule, pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) error {
			return inTransaction(ctx, conn, t.source.statements(t.table), byPgx)
		})},
		{name: "lib=pgx/call=copy-temporary", module: pgxModule, pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) error {
			return copyTemporary(ctx, conn, t.table, t.source.copyFrom())
		})},
		{name: "lib=pgbulk/call=upsert/strategy=auto", pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) error {
			_, err := pgbulk.Upsert(ctx, conn, bulkTable(t), pgbulk.Values(t.source.all()), pgbulk.UpsertOptions{})
			return err
		})},
	}
}

// source makes rows one by one, with ids in order and values from a few that were drawn.
type source struct {
	rows   int
	values [][]any // each row takes one of these
}

func newSource(rows, letters int, seed uint64) *source {
	const documents = 16
	return &source{rows: rows, values: workload{rows: documents, letters: letters}.draw(seed, 1)}
}

// row fills in the i-th row.
func (s *source) row(row []any, i int) {
	copy(row, s.values[i%len(s.values)])
	row[0] = strconv.Itoa(1_000_000_000 + i)
}

// all yields the rows, always in the same slice.
func (s *source) all() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		row := make([]any, len(columns))
		for i := range s.rows {
			if s.row(row, i); !yield(row) {
				return
			}
		}
	}
}

// statements yields the rows as the page's INSERT, as many in each as the protocol allows.
func (s *source) statements(table string) iter.Seq[statement] {
	return func(yield func(statement) bool) {
		const most = maxParameters / 5
		for from := 0; from < s.rows; from += most {
			rows := make([][]any, min(most, s.rows-from))
			for i := range rows {
				rows[i] = make([]any, len(columns))
				s.row(rows[i], from+i)
			}
			if !yield(statements(table, rows)[0]) {
				return
			}
		}
	}
}

// copyFrom returns the rows for pgx's CopyFrom.
func (s *source) copyFrom() pgx.CopyFromSource {
	i, row := -1, make([]any, len(columns))
	return pgx.CopyFromFunc(func() ([]any, error) {
		if i++; i == s.rows {
			return nil, nil
		}
		s.row(row, i)
		return row, nil
	})
}

// bytes returns the total length of all values.
func (s *source) bytes() (n int64) {
	row := make([][]any, 1)
	row[0] = make([]any, len(columns))
	for i := range s.rows {
		s.row(row[0], i)
		n += int64(bytesOf(row))
	}
	return n
}

// flood is a sink for more than it can keep.
type flood struct{ *sink }

func openFlood(rows, letters int) func(context.Context, lab.Env) (place, error) {
	return func(ctx context.Context, env lab.Env) (place, error) {
		p, err := openSink(workload{letters: letters}, pgtest.Unix)(ctx, env)
		if err != nil {
			return nil, err
		}
		f := flood{p.(*sink)}
		f.to.source = newSource(rows, letters, env.Seed)
		return f, nil
	}
}

const floodChecks = "the first 4 MB that the sink received hold every value of their rows in order, and there were as many bytes as all rows have, and not many more"

// prove lets the sink keep the beginning of what it receives, and looks for the values in it.
func (f flood) prove(_ context.Context, write func() error) error {
	head, bytes, err := f.received("capture head", write)
	if err != nil {
		return err
	}
	return f.check(head, bytes)
}

func (f flood) check(head []byte, received int64) error {
	s := f.to.source
	// Around the values as in checkReceived, and the texts of statements, of BEGIN and of COMMIT.
	least := s.bytes()
	if most := least + int64(s.rows)*(16*int64(len(columns))+128) + 64<<10; received < least || received > most {
		return fmt.Errorf("%d bytes were received, want %d to %d", received, least, most)
	}
	rows := make([][]any, min(s.rows, headBytes*3/4/(int(least)/s.rows)))
	for i := range rows {
		rows[i] = make([]any, len(columns))
		s.row(rows[i], i)
	}
	bodies, _ := bodiesOf(head) // the last message may be cut
	return checkValues(bodies, rows)
}
