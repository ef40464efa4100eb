package pgbulk

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// auto keeps the first rows in the chunk until it knows which strategy is best for them, and then
// leaves them to that one. All that is chosen is chosen here.
type auto struct {
	*call
	staging bool     // Copy would need a temporary table
	stages  bool     // and may make one
	arrays  []uint32 // for Unnest; nil if it cannot be
}

func (*auto) name() Strategy                                  { return Bind } // of no rows
func (*auto) affected() int64                                 { return 0 }
func (*auto) locate(context.Context, *Error, *pgconn.PgError) {}

// largeRow is the size in bytes from which Bind is better. Copying into a temporary table has the
// server write every row twice, which costs more than the parsing of statements does once a row is
// larger than about this; see docs/evidence/pgbulk.md for the measurement.
const largeRow = 800

// fewRows is the number of rows from which COPY straight into the table is better than Bind: its
// transaction and check of the types take longer than parsing some placeholders. Large rows are
// fewer: as many as fit in the buffer. It is also the number of small rows from which Unnest is
// better than Bind.
const fewRows = 30

func (a *auto) begin(row []any) {
	switch {
	case leftOut(row) != nil || len(a.omitted) > 0:
		a.become(newBind(a.call), row)
	case a.staged():
		a.staging = true
		if !a.binary() {
			a.become(newBind(a.call), row)
			return
		}
		a.arrays = arrayTypes(a.m, a.columns)
		a.stages = a.layout.mayStage && !a.plainInsert()
	}
}

// become has another strategy go on from row, which is not yet taken.
func (a *auto) become(s strategy, row []any) {
	a.way = s
	s.begin(row)
}

func (a *auto) late() {
	a.become(newBind(a.call), nil)
}

func (a *auto) row(ctx context.Context, row []any) error {
	if leftOut(row) != nil {
		a.become(newBind(a.call), row)
		return a.way.row(ctx, row)
	}
	size, referred := a.size(row)
	full := a.full(size)
	if full {
		if err := a.settleTriggers(ctx); err != nil {
			return err
		}
	}
	switch {
	case !a.staging && (full || a.chunk.rows() >= fewRows-1 || a.chunk.size()+size > bufferSize):
		a.become(&copying{call: a.call, chosen: true}, row)
	case full && a.stages && (a.keyed.unknown || a.keyed.inexact || a.keyOrder() || !a.large(size)):
		a.become(&copying{call: a.call, chosen: true}, row)
	case full:
		a.statements(row)
	default:
		a.chunk.grow(size-referred, a.chunkBytes)
		if err := a.add(&a.chunk, row, false); err != nil {
			return err
		}
		a.watch(nil)
		return nil
	}
	return a.way.row(ctx, row)
}

func (a *auto) end(ctx context.Context) error {
	a.statements(nil)
	return a.way.end(ctx)
}

// statements chooses Bind or Unnest.
func (a *auto) statements(row []any) {
	if a.arrays != nil && a.chunk.rows() >= fewRows && !a.large(0) {
		a.become(newUnnest(a.call), row)
	} else {
		a.become(newBind(a.call), row)
	}
}

// full reports whether the chunk has no room for another row of the given size.
func (c *call) full(size int) bool {
	return c.chunk.rows() >= c.chunkRows || size > c.chunkBytes-c.chunk.size()
}

// large reports whether the rows seen so far, and one more of the given size, are large ones.
func (c *call) large(size int) bool {
	return (c.chunk.size()+size)/(c.chunk.rows()+1) >= largeRow
}
