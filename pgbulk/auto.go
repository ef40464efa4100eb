package pgbulk

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// auto keeps the first rows in the chunk until it knows which strategy is best for them, and then
// leaves them to that one. All that is chosen is chosen here.
type auto struct {
	session *session
	staging bool // Copy would need a temporary table
	stages  bool // and may make one
}

func (*auto) name() Strategy                                  { return Bind } // of no rows
func (*auto) locate(context.Context, *Error, *pgconn.PgError) {}

// largeRow is the size in bytes from which several statements are better than a temporary table,
// into which the server writes every row a second time; see docs/evidence/pgbulk.md for the
// measurement.
const largeRow = 800

// fewRows is the number of rows from which COPY straight into the table is better than Bind: its
// transaction and check of the types take longer than parsing some placeholders. Large rows are
// fewer: as many as fit in the buffer. It is also the number of small rows from which Unnest is
// better than Bind.
const fewRows = 30

func (a *auto) begin(row []any) {
	c := a.session
	switch {
	case defaultsOf(row) != nil || len(c.plan.omitted) > 0:
		a.become(&bind{session: c}, row)
	case c.staged():
		a.staging = true
		if !c.enc.binary() {
			a.become(&bind{session: c}, row)
			return
		}
		a.stages = c.plan.layout.relation.mayStage && !c.plan.layout.relation.watched && !c.plan.plainInsert()
	}
}

// become has another strategy go on from row, which is not yet taken.
func (a *auto) become(s strategy, row []any) {
	a.session.strategy = s
	s.begin(row)
}

func (a *auto) late() {
	a.become(&bind{session: a.session}, nil)
}

func (a *auto) row(ctx context.Context, row []any) error {
	c, chunk := a.session, &a.session.buf.chunk
	if defaultsOf(row) != nil {
		a.become(&bind{session: c}, row)
		return c.strategy.row(ctx, row)
	}
	size := c.enc.size(row)
	full := c.full(size)
	if c.plan.known != nil && (full || !a.staging && a.large(size) && chunk.size()+size > bufferSize) {
		if err := c.refresh(ctx); err != nil {
			return err
		}
		if a.begin(row); c.strategy != strategy(a) {
			return c.strategy.row(ctx, row)
		}
	}
	if full {
		if err := c.settleTriggers(ctx); err != nil {
			return err
		}
	}
	many := chunk.rows() >= fewRows-1 || chunk.size()+size > bufferSize
	stages := a.stages && (c.keyed.unknown || c.keyed.inexact || !a.large(size))
	switch {
	case !a.staging && (full || c.plan.known == nil && many), full && stages:
		a.become(&copying{session: c, chosen: true}, row)
	case full:
		a.statements(row)
	default:
		if err := c.enc.add(chunk, row, false); err != nil {
			return err
		}
		c.watch(nil)
		return nil
	}
	return c.strategy.row(ctx, row)
}

func (a *auto) end(ctx context.Context) error {
	a.statements(nil)
	return a.session.strategy.end(ctx)
}

// statements chooses Bind or Unnest.
func (a *auto) statements(row []any) {
	c, few := a.session, fewRows
	if c.plan.known != nil {
		few = 2 // the statement has been parsed
	}
	unnests := (a.staging || c.plan.known != nil) && c.buf.chunk.rows() >= few
	if unnests && arrayTypes(c.enc.m, c.enc.columns) != nil {
		a.become(&bind{session: c, unnests: true}, row)
	} else {
		a.become(&bind{session: c}, row)
	}
}

// full reports whether the chunk has no room for another row of the given size.
func (c *session) full(size int) bool {
	return c.buf.chunk.rows() >= c.plan.settings.chunkRows || size > c.plan.settings.chunkBytes-c.buf.chunk.size()
}

// large reports whether the rows seen so far, and one more of the given size, are large ones.
func (a *auto) large(size int) bool {
	c := &a.session.buf.chunk
	return (c.size()+size)/(c.rows()+1) >= largeRow
}
