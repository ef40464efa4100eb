package pgbulk

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// auto keeps the first rows in the chunk until it knows which strategy is best for them, and then
// leaves them to that one. All that is chosen is chosen here.
type auto struct {
	session *call
	staging bool // Copy would need a temporary table
	stages  bool // and may make one
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
	case leftOut(row) != nil || len(a.session.omitted) > 0:
		a.become(newBind(a.session), row)
	case a.session.staged():
		a.staging = true
		if !a.session.binary() {
			a.become(newBind(a.session), row)
			return
		}
		a.stages = a.session.layout.mayStage && !a.session.plainInsert()
	}
}

// become has another strategy go on from row, which is not yet taken.
func (a *auto) become(s strategy, row []any) {
	a.session.way = s
	s.begin(row)
}

func (a *auto) late() {
	a.become(newBind(a.session), nil)
}

func (a *auto) row(ctx context.Context, row []any) error {
	if leftOut(row) != nil {
		a.become(newBind(a.session), row)
		return a.session.way.row(ctx, row)
	}
	size, referred := a.session.size(row)
	full := a.session.full(size)
	if a.session.known != nil && (full || !a.staging && a.session.large(size) && a.session.chunk.size()+size > bufferSize) {
		if err := a.session.refresh(ctx); err != nil {
			return err
		}
		if a.begin(row); a.session.way != strategy(a) {
			return a.session.way.row(ctx, row)
		}
	}
	if full {
		if err := a.session.settleTriggers(ctx); err != nil {
			return err
		}
	}
	switch {
	case !a.staging && (full || a.session.known == nil && (a.session.chunk.rows() >= fewRows-1 || a.session.chunk.size()+size > bufferSize)):
		a.become(&copying{session: a.session, chosen: true}, row)
	case full && a.stages && (a.session.keyed.unknown || a.session.keyed.inexact || !a.session.large(size)):
		a.become(&copying{session: a.session, chosen: true}, row)
	case full:
		a.statements(row)
	default:
		a.session.chunk.grow(size-referred, a.session.chunkBytes)
		if err := a.session.add(&a.session.chunk, row, false); err != nil {
			return err
		}
		a.session.watch(nil)
		return nil
	}
	return a.session.way.row(ctx, row)
}

func (a *auto) end(ctx context.Context) error {
	a.statements(nil)
	return a.session.way.end(ctx)
}

// statements chooses Bind or Unnest.
func (a *auto) statements(row []any) {
	few := fewRows
	if a.session.known != nil {
		few = 2 // the statement has been parsed
	}
	unnests := (a.staging || a.session.known != nil) && a.session.chunk.rows() >= few && !a.session.large(0)
	if unnests && arrayTypes(a.session.m, a.session.columns) != nil {
		a.become(newUnnest(a.session), row)
	} else {
		a.become(newBind(a.session), row)
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
