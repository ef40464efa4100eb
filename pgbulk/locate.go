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

// explain finds out which row and column a failed call's error is about, and rolls back a transaction of ours.
//
// The server tells the position of a value that it cannot read. Of a row that a constraint or a trigger refuses it does not;
// the rows are then tried again, by halves, in a transaction that is rolled back or (the caller's) left aborted.
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
	e.Column = pgErr.ColumnName
	if w.strategy == Copy {
		w.explainCopy(e, pgErr)
	} else {
		w.explainBind(e, pgErr)
	}
}

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
		target = stage
	}
	if row, column, ok := copyPosition(pgErr, target, w.table.Columns); ok {
		e.Row, e.LastRow = row, row
		if column != "" {
			e.Column = column
		}
		return
	}
	if !w.staging || !aboutRow(pgErr) || w.pc.IsClosed() || w.pc.TxStatus() != 'E' {
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
	e.Row = w.halve(pgErr.Code, w.n, func(from, to int) error {
		return w.exec(w.ctx, w.pc, w.insertSelect(fmt.Sprintf(
			" where ctid in (select ctid from (select ctid, row_number() over (order by ctid) as n from pg_temp.%s) as numbered where n > %d and n <= %d)",
			stage, from, to)))
	})
	e.LastRow = e.Row
}

// twiceInStage finds the first two rows with the same key. The stage has just been filled, so that its physical order is the order
// of the rows.
func (w *writer) twiceInStage() (first, second int) {
	key, where := quoteAll(w.table.Key), ""
	var typed []string
	for i, c := range w.columns {
		if w.isKey[i] {
			typed = append(typed, w.fromStage(i)+" as "+quote(c.name))
		}
	}
	if !w.layout.nullsAlike { // as GROUP BY takes them for
		where = "where row(" + key + ") is not null"
	}
	sql := fmt.Sprintf(`select n[1], n[2] from (select array_agg(n order by n) as n from
		(select row_number() over (order by ctid) - 1 as n, %s from pg_temp.%s) as numbered
		%s group by %s having count(*) > 1) as twice order by n[2] limit 1`, strings.Join(typed, ", "), stage, where, key)
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
	// Of an earlier statement it is not known any more which columns it left out.
	if n, ok := bindPosition(pgErr); ok && (!w.mixed || w.chunk.first == first) {
		n--
		if w.strategy == Unnest && first < last {
			e.Column = w.columns[n%len(w.columns)].name // which row of the column is not told
		} else if row := first + n/w.params(); row <= last {
			e.Row, e.LastRow, e.Column = row, row, w.parameterColumn(n%w.params()).name
			return
		}
	}
	if !aboutRow(pgErr) {
		return
	}
	e.Row, e.LastRow = first, last
	// The rows are still there only if none came after them.
	if first == last || w.chunk.first != first || w.pc.IsClosed() {
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
	begin := "begin"
	switch {
	case w.inTx:
		begin = "rollback to savepoint " + savepoint
	case w.returned != nil:
		begin = "rollback; begin"
	}
	if w.exec(w.ctx, w.pc, begin) != nil {
		return
	}
	if row := w.halve(pgErr.Code, w.chunk.rows(), w.tryRows); row >= 0 {
		e.Row, e.LastRow = first+row, first+row
	}
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

// halve finds the row that makes try fail with the given code, among n rows which fail together. It returns -1
// if it is not to be found. It leaves the transaction aborted.
func (w *writer) halve(code string, n int, try func(from, to int) error) int {
	const point = savepoint + "_try"
	from, to := 0, n
	for to-from > 1 {
		middle := from + (to-from)/2
		if w.exec(w.ctx, w.pc, "savepoint "+point) != nil {
			return -1
		}
		err := try(from, middle)
		back := "release savepoint " + point
		if err != nil {
			if !hasCode(err, code) || w.pc.IsClosed() {
				return -1
			}
			back = "rollback to savepoint " + point
			to = middle
		} else {
			from = middle
		}
		if w.exec(w.ctx, w.pc, back) != nil {
			return -1
		}
	}
	if hasCode(try(from, to), code) {
		return from
	}
	w.abort()
	return -1
}

// abort leaves the caller's transaction as a failed statement does.
func (w *writer) abort() {
	if w.inTx && !w.pc.IsClosed() && w.pc.TxStatus() == 'T' {
		w.exec(w.ctx, w.pc, "do $$ begin raise exception 'pgbulk: the rows were refused' using errcode = 'transaction_rollback'; end $$")
	}
}

const cardinalityViolation = "21000"

// aboutRow reports whether an error is of a kind that a row's values cause: SQLSTATE classes cardinality violation, data
// exception, integrity constraint violation, with check option violation, and what PL/pgSQL raises
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func aboutRow(e *pgconn.PgError) bool {
	return len(e.Code) == 5 && slices.Contains([]string{"21", "22", "23", "44", "P0"}, e.Code[:2])
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == code
}
