package pgbulk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// traceQuery tells a connection's tracer that a statement begins, and returns what tells it that it
// has ended.
func traceQuery(ctx context.Context, conn *pgx.Conn, sql func() string, args []any) (context.Context, func(pgconn.CommandTag, error)) {
	tracer := connectionOf(conn).tracer
	if tracer == nil {
		return ctx, func(pgconn.CommandTag, error) {}
	}
	ctx = tracer.TraceQueryStart(ctx, conn, pgx.TraceQueryStartData{SQL: sql(), Args: args})
	return ctx, func(tag pgconn.CommandTag, err error) {
		tracer.TraceQueryEnd(ctx, conn, pgx.TraceQueryEndData{CommandTag: tag, Err: err})
	}
}

// errNoEnd is what a tracer is told of a call that never returned.
var errNoEnd = errors.New("pgbulk: the source of rows panicked or ended the goroutine")

// traced tells a connection's tracer that a call begins, and returns what tells it that it has
// ended. A call is traced as one query, with the statement for a single row and without arguments.
func (p *plan) traced(ctx context.Context) (context.Context, func(Result, error)) {
	if connectionOf(p.conn).tracer == nil {
		return ctx, func(Result, error) {}
	}
	ctx, ended := traceQuery(ctx, p.conn, p.oneRow, nil)
	return ctx, func(r Result, err error) { ended(p.settings.op.tag(r.Affected), err) }
}

// oneRow is the statement for one row.
func (p *plan) oneRow() string {
	s := p.settings
	s.fillSet(&p.table)
	head, tail := s.parts(&p.table, func(string) string { return "" })
	var values []string
	for i := range p.table.Columns {
		values = append(values, fmt.Sprintf("$%d", i+1))
	}
	return head + "values (" + strings.Join(values, ", ") + ")" + tail
}

// tag is the command tag of a statement.
func (op operation) tag(affected int64) pgconn.CommandTag {
	if op == opUpdate {
		return pgconn.NewCommandTag(fmt.Sprint("UPDATE ", affected))
	}
	return pgconn.NewCommandTag(fmt.Sprint("INSERT 0 ", affected))
}
