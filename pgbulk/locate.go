package pgbulk

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain finds out which row and column a failed call's error is about, and rolls back a
// transaction of ours. The server reports the position of a value that it cannot read, but not of a
// row that a constraint or a trigger refuses.
func (c *session) explain(ctx context.Context, e *Error) {
	e.Uncertain = c.uncertain
	defer c.rollback(ctx)
	if c.stream != nil && c.stream.refused() {
		c.abort(ctx)
		return
	}
	pgErr, ok := asType[*pgconn.PgError](e.Err)
	if !ok || c.stream == nil || c.stream.gaveUp != nil || ctx.Err() != nil {
		return
	}
	if strings.Contains(pgErr.Message, altered) {
		e.Err = errAltered
		return
	}
	if pgErr.Code != generatedAlways { // which names another, and has ours in its message
		e.Column = pgErr.ColumnName
	}
	if !ofNoRow(pgErr) { // though COPY's context has the row that it happened to be at
		c.strategy.locate(ctx, e, pgErr)
	}
}

// rollback ends the transaction that was begun for Copy, if it is still there.
func (c *session) rollback(ctx context.Context) {
	if c.inTx || c.pc.IsClosed() || c.pc.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CancelGrace)
	defer cancel()
	if c.exec(ctx, "rollback") != nil {
		c.pc.Close(ctx)
	}
}

func (c *copying) locate(ctx context.Context, e *Error, pgErr *pgconn.PgError) {
	target := c.session.plan.table.Name[len(c.session.plan.table.Name)-1]
	if c.staging {
		target = c.stage
	}
	row, column, ok := copyPosition(pgErr, target, c.session.plan.table.Columns)
	switch {
	case ok:
		e.Row, e.LastRow = row, row
		if column != "" {
			e.Column = column
		}
	case pgErr.Code != cardinalityViolation || !c.saves() || c.session.pc.IsClosed() || c.session.pc.TxStatus() != 'E':
	case c.session.exec(ctx, "rollback to savepoint "+savepoint) == nil:
		e.FirstRow, e.Row = c.twiceInStage(ctx)
		e.LastRow = e.Row
		c.session.abort(ctx)
	}
}

// savepoint names the savepoint that keeps the stage.
const savepoint = "pgbulk"

// saves reports whether a savepoint keeps the stage when its rows are refused, to search for two
// with the same key.
func (c *copying) saves() bool {
	return c.staging && (c.session.keyed.remembers || c.session.keyed.inexact && !c.session.keyed.unknown)
}

// twiceInStage finds the first two rows with the same key. The stage has just been filled, so that
// its physical order is the order of the rows.
func (c *copying) twiceInStage(ctx context.Context) (first, second int) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// Names of our own, whatever the table's are.
	var key, typed []string
	for i := range c.session.enc.columns {
		if c.session.enc.isKey[i] {
			key = append(key, fmt.Sprintf("k%d", i))
			typed = append(typed, fmt.Sprintf("%s as k%d", c.session.fromStage(i), i))
		}
	}
	keys := strings.Join(key, ", ")
	sql := fmt.Sprintf(`select n[1], n[2] from (select array_agg(n order by n) as n from
		(select row_number() over (order by ctid) - 1 as n, %s from pg_temp.%s) as numbered
		where row(%s) is not null group by %[3]s having count(*) > 1) as twice order by n[2] limit 1`, strings.Join(typed, ", "), c.stage, keys)
	s, err := c.session.buf.query(ctx, c.session.pc, sql)
	if err != nil || len(s.answer.results.rows) != 1 {
		return -1, -1
	}
	a, err1 := strconv.Atoi(string(s.answer.results.rows[0][0]))
	b, err2 := strconv.Atoi(string(s.answer.results.rows[0][1]))
	if err1 != nil || err2 != nil {
		return -1, -1
	}
	return a, b
}

// abort leaves the caller's transaction as a failed statement does.
func (c *session) abort(ctx context.Context) {
	if c.inTx && !c.pc.IsClosed() && c.pc.TxStatus() == 'T' {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CancelGrace)
		defer cancel()
		c.exec(ctx, "do $$ begin raise exception 'pgbulk: the rows were refused' using errcode = 'transaction_rollback'; end $$")
	}
}

const (
	cardinalityViolation = "21000"
	generatedAlways      = "428C9"
)

// aboutRow reports whether an error is of a kind that a row's values cause: SQLSTATE classes
// cardinality violation, data exception, integrity constraint violation, with check option
// violation, and what PL/pgSQL raises
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func aboutRow(e *pgconn.PgError) bool {
	return len(e.Code) == 5 && slices.Contains([]string{"21", "22", "23", "44", "P0"}, e.Code[:2])
}

// ofNoRow reports whether an error is never about a row: SQLSTATE classes invalid transaction
// state, transaction rollback, insufficient resources, object not in prerequisite state, operator
// intervention and system error.
func ofNoRow(e *pgconn.PgError) bool {
	return len(e.Code) == 5 && slices.Contains([]string{"25", "40", "53", "55", "57", "58"}, e.Code[:2])
}

func hasCode(err error, code string) bool {
	e, ok := asType[*pgconn.PgError](err)
	return ok && e.Code == code
}
