package pgbulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain finds out which row and column a failed call's error is about, and rolls back a
// transaction of ours.
//
// The server reports the position of a value that it cannot read, but not of a row that a
// constraint or a trigger refuses. For that, the rows are tried again, by halves, in a transaction
// that is rolled back or (the caller's) left aborted. Each row is tried at most twice more, and the
// search has a time limit.
func (w *writer) explain(e *Error) {
	e.Uncertain = w.uncertain
	defer w.rollback()
	if w.stream != nil && w.stream.refused() {
		w.abort()
		return
	}
	pgErr, ok := errors.AsType[*pgconn.PgError](e.Err)
	if !ok || w.stream == nil || w.stream.gaveUp != nil || w.ctx.Err() != nil {
		return
	}
	if err := w.alteredError(pgErr); err != nil {
		e.Err = err
		return
	}
	if e.Column = pgErr.ColumnName; pgErr.Code == generatedAlways {
		e.Column = w.alwaysGenerated()
	}
	if within := w.options.LocateWithin; within > 0 {
		ctx, cancel := context.WithTimeout(w.ctx, within)
		defer cancel()
		defer func(ctx context.Context) { w.ctx = ctx }(w.ctx)
		w.ctx = ctx
	}
	if w.strategy == Copy {
		w.explainCopy(e, pgErr)
	} else {
		w.explainBind(e, pgErr)
	}
	switch {
	case e.Row >= 0 && e.Row == e.LastRow || !aboutRow(pgErr):
		e.Unlocated = ""
	case w.options.LocateWithin < 0 && e.Unlocated == "":
		e.Unlocated = "the search for it is turned off"
	case w.ctx.Err() != nil:
		e.Unlocated = fmt.Sprintf("the search for it took more than %v", w.options.LocateWithin)
	case e.Unlocated == "":
		e.Unlocated = "the rows were not refused when they were tried again"
	}
}

// Why a row cannot be located.
const (
	foundLate = "the server found it when all rows were in, as it does for foreign keys, deferred constraints and AFTER triggers"
	rowsGone  = "the rows of that statement are not kept"
)

// rollback ends the transaction that was begun for Copy, if it is still there.
func (w *writer) rollback() {
	if w.inTx || w.pc.IsClosed() || w.pc.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), CancelGrace)
	defer cancel()
	if w.exec(ctx, w.pc, "rollback") != nil {
		w.pc.Close(ctx)
	}
}

func (w *writer) explainCopy(e *Error, pgErr *pgconn.PgError) {
	target := w.table.Name[len(w.table.Name)-1]
	if w.staging {
		target = w.stage
	}
	if row, column, ok := copyPosition(pgErr, target, w.table.Columns); ok {
		e.Row, e.LastRow = row, row
		if column != "" {
			e.Column = column
		}
		return
	}
	if !aboutRow(pgErr) || w.pc.IsClosed() {
		return
	}
	if !w.staging || w.pc.TxStatus() != 'E' {
		e.Unlocated = foundLate
		return
	}
	if w.options.LocateWithin < 0 {
		return
	}
	if w.exec(w.ctx, w.pc, "rollback to savepoint "+savepoint) != nil {
		return // the error was before the savepoint, and not about a row
	}
	if pgErr.Code == cardinalityViolation {
		if w.table.exactKey(&w.options) {
			e.FirstRow, e.Row = w.twiceInStage()
			e.LastRow = e.Row
		}
		w.abort()
		return
	}
	from, to := w.halve(pgErr.Code, w.n, func(from, to int) error {
		return w.exec(w.ctx, w.pc, w.insertSelect(fmt.Sprintf(
			" where ctid in (select ctid from (select ctid, row_number() over (order by ctid) as n from pg_temp.%s) as numbered where n > %d and n <= %d)",
			w.stage, from, to)))
	})
	e.Row, e.LastRow = from, to-1
}

// twiceInStage finds the first two rows with the same key. The stage has just been filled, so that
// its physical order is the order of the rows.
func (w *writer) twiceInStage() (first, second int) {
	// Names of our own, whatever the table's are.
	var key, typed []string
	for i := range w.columns {
		if w.isKey[i] {
			key = append(key, fmt.Sprintf("k%d", i))
			typed = append(typed, fmt.Sprintf("%s as k%d", w.fromStage(i), i))
		}
	}
	keys, where := strings.Join(key, ", "), ""
	if !w.layout.nullsAlike { // as GROUP BY does
		where = "where row(" + keys + ") is not null"
	}
	sql := fmt.Sprintf(`select n[1], n[2] from (select array_agg(n order by n) as n from
		(select row_number() over (order by ctid) - 1 as n, %s from pg_temp.%s) as numbered
		%s group by %s having count(*) > 1) as twice order by n[2] limit 1`, strings.Join(typed, ", "), w.stage, where, keys)
	s := open(w.ctx, w.pc, w.buffers)
	s.collect = true
	s.command(sql)
	s.sync()
	if s.close() != nil || len(s.rows) != 1 {
		return -1, -1
	}
	a, err1 := strconv.Atoi(string(s.rows[0][0]))
	b, err2 := strconv.Atoi(string(s.rows[0][1]))
	if err1 != nil || err2 != nil {
		return -1, -1
	}
	return a, b
}

func (w *writer) explainBind(e *Error, pgErr *pgconn.PgError) {
	first, last, ok := w.failedStatement()
	if !ok {
		e.Unlocated = foundLate
		return
	}
	if w.again && pgErr.Code == cardinalityViolation && first == w.n {
		e.FirstRow, e.Row, e.LastRow = w.firstRow, w.n, w.n
		return
	}
	if pgErr.Code == cardinalityViolation && first < w.pairSecond && w.pairSecond <= last {
		e.FirstRow, e.Row, e.LastRow = w.pairFirst, w.pairSecond, w.pairSecond
		return
	}
	// Which columns an earlier statement left out is no longer known.
	if n, ok := bindPosition(pgErr); ok && (!w.mixed || w.chunk.first == first) {
		n--
		if w.strategy == Unnest && first < last {
			e.Column = w.columns[n%len(w.columns)].name // the server does not say which row
		} else if row := first + n/w.params(); row <= last {
			e.Row, e.LastRow, e.Column = row, row, w.parameterColumn(n%w.params()).name
			return
		}
	}
	if !aboutRow(pgErr) {
		return
	}
	e.Row, e.LastRow = first, last
	switch {
	case first == last || w.pc.IsClosed():
		return
	case w.chunk.first != first: // others came after them
		e.Unlocated = rowsGone
		return
	}
	if pgErr.Code == cardinalityViolation && w.blind {
		return
	}
	if pgErr.Code == cardinalityViolation {
		isKey, _ := w.keyParams()
		if a, b, ok := w.chunk.twice(isKey, w.layout.nullsAlike); ok {
			e.FirstRow, e.Row, e.LastRow = first+a, first+b, first+b
		}
		return
	}
	if w.options.LocateWithin < 0 {
		return
	}
	begin := "begin"
	switch {
	case w.inTx:
		begin = "rollback to savepoint " + savepoint
	case w.begun:
		begin = "rollback; begin"
	}
	if w.exec(w.ctx, w.pc, begin) != nil {
		return
	}
	from, to := w.halve(pgErr.Code, w.chunk.rows(), w.tryRows)
	e.Row, e.LastRow = first+from, first+to-1
}

// tryRows inserts some rows of the chunk, in an exchange of its own.
func (w *writer) tryRows(from, to int) error {
	params := (to - from) * w.params()
	s := open(w.ctx, w.pc, w.buffers)
	s.parse(w.appendInsert(nil, to-from), w.types, params)
	s.bind("", w.formats, params, w.chunk.sizeOf(from, to))
	w.chunk.write(s, from, to)
	s.execute()
	s.sync()
	return s.close()
}

// halve finds the row that makes try fail with the given code, among n rows which fail together. If
// its time runs out it returns the rows that are left, [from, to). It leaves the transaction
// aborted.
func (w *writer) halve(code string, n int, try func(from, to int) error) (from, to int) {
	const point = savepoint + "_try"
	defer w.abort()
	for to = n; to-from > 1; {
		if w.ctx.Err() != nil {
			return from, to
		}
		middle := from + (to-from)/2
		if w.exec(w.ctx, w.pc, "savepoint "+point) != nil {
			return from, to
		}
		err := try(from, middle)
		if err != nil && (!hasCode(err, code) || w.pc.IsClosed()) {
			return from, to
		}
		back := "release savepoint " + point
		if err != nil {
			back = "rollback to savepoint " + point
		}
		if w.exec(w.ctx, w.pc, back) != nil {
			return from, to
		}
		if err != nil {
			to = middle
		} else {
			from = middle
		}
	}
	if err := try(from, to); !hasCode(err, code) {
		return 0, n // not so this time
	}
	return from, to
}

// abort leaves the caller's transaction as a failed statement does.
func (w *writer) abort() {
	if w.inTx && !w.pc.IsClosed() && w.pc.TxStatus() == 'T' {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), CancelGrace)
		defer cancel()
		w.exec(ctx, w.pc, "do $$ begin raise exception 'pgbulk: the rows were refused' using errcode = 'transaction_rollback'; end $$")
	}
}

const (
	cardinalityViolation = "21000"
	generatedAlways      = "428C9"
)

// alwaysGenerated is the first of our columns that is GENERATED ALWAYS: the server's error names it
// only in words.
func (w *writer) alwaysGenerated() string {
	for i, a := range w.layout.attributes {
		if a.always {
			return w.columns[i].name
		}
	}
	return ""
}

// aboutRow reports whether an error is of a kind that a row's values cause: SQLSTATE classes
// cardinality violation, data exception, integrity constraint violation, with check option
// violation, and what PL/pgSQL raises
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func aboutRow(e *pgconn.PgError) bool {
	return len(e.Code) == 5 && slices.Contains([]string{"21", "22", "23", "44", "P0"}, e.Code[:2])
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == code
}
