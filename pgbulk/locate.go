package pgbulk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain finds out which row and column a failed call's error is about, and rolls back a
// transaction of ours.
//
// The server reports the position of a value that it cannot read, but not of a row that a
// constraint or a trigger refuses. For that, the rows are tried again, by halves, in a transaction
// that is rolled back or (the caller's) left aborted. Each row is tried at most twice more, and the
// search has a time limit.
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
	if ofNoRow(pgErr) { // though COPY's context has the row that it happened to be at
		return
	}
	if c.plan.settings.LocateWithin > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.plan.settings.LocateWithin)
		defer cancel()
	}
	c.strategy.locate(ctx, e, pgErr)
	switch {
	case e.Row >= 0 && e.Row == e.LastRow || !aboutRow(pgErr):
		e.Unlocated = ""
	case ctx.Err() != nil && c.plan.settings.LocateWithin > 0:
		e.Unlocated = fmt.Sprintf("the search for it took more than %v", c.plan.settings.LocateWithin)
	case e.Unlocated != "":
	case c.plan.settings.LocateWithin <= 0:
		e.Unlocated = "LocateWithin, which has it searched for, is not set"
	default:
		e.Unlocated = "the rows could not be tried again"
	}
}

// Why a row cannot be located.
const (
	foundLate = "the server found it when all rows were in, as it does for foreign keys, deferred constraints and AFTER triggers"
	rowsGone  = "the rows of that statement are not kept"
	// notRefused is why, unless the search ends at one row.
	notRefused = "the rows were not refused when they were tried again"
)

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
	case !aboutRow(pgErr) || c.session.pc.IsClosed():
	case !c.staging || c.session.pc.TxStatus() != 'E':
		e.Unlocated = foundLate
	case !c.saves() || c.session.exec(ctx, "rollback to savepoint "+savepoint) != nil:
		// Or the error was before the savepoint, and not about a row.
	case pgErr.Code == cardinalityViolation:
		if !c.session.keyed.unknown {
			e.FirstRow, e.Row = c.twiceInStage(ctx)
			e.LastRow = e.Row
		}
		c.session.abort(ctx)
	case c.session.plan.settings.LocateWithin > 0:
		c.search(ctx, e, pgErr.Code)
	default:
		c.session.abort(ctx)
	}
}

// saves reports whether a savepoint keeps the stage when its rows are refused: to search for the
// one, or for two with the same key.
func (c *copying) saves() bool {
	return c.session.plan.settings.LocateWithin > 0 || c.session.keyed.remembers || c.session.keyed.inexact
}

// search looks in the stage for the row that an error is about.
func (c *copying) search(ctx context.Context, e *Error, code string) {
	from, to := c.session.halve(ctx, e, code, c.session.n, func(ctx context.Context, from, to int) error {
		return c.session.exec(ctx, c.insertSelect(fmt.Sprintf(
			" where ctid in (select ctid from (select ctid, row_number() over (order by ctid) as n from pg_temp.%s) as numbered where n > %d and n <= %d)",
			c.stage, from, to)))
	})
	e.Row, e.LastRow = from, to-1
}

// twiceInStage finds the first two rows with the same key. The stage has just been filled, so that
// its physical order is the order of the rows.
func (c *copying) twiceInStage(ctx context.Context) (first, second int) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.session.plan.settings.LocateWithin, 5*time.Second))
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

// halve finds the row that makes try fail with the given code, among n rows which fail together. If
// its time runs out it returns the rows that are left, [from, to). It leaves the transaction
// aborted.
func (c *session) halve(ctx context.Context, e *Error, code string, n int, try func(ctx context.Context, from, to int) error) (from, to int) {
	const point = savepoint + "_try"
	defer c.abort(ctx)
	for to = n; to-from > 1; {
		if ctx.Err() != nil {
			return from, to
		}
		middle := from + (to-from)/2
		if c.exec(ctx, "savepoint "+point) != nil {
			return from, to
		}
		err := try(ctx, from, middle)
		e.Unlocated = notRefused
		if err != nil && (!hasCode(err, code) || c.pc.IsClosed()) {
			return from, to
		}
		back := "release savepoint " + point
		if err != nil {
			back = "rollback to savepoint " + point
		}
		if c.exec(ctx, back) != nil {
			return from, to
		}
		if err != nil {
			to = middle
		} else {
			from = middle
		}
	}
	err := try(ctx, from, to)
	e.Unlocated = notRefused
	if !hasCode(err, code) {
		return 0, n // not so this time
	}
	return from, to
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
