package pgbulk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// stageName is the temporary table's name, or its beginning: in the caller's transaction there is
// one for each set of columns, for all calls. Creating and dropping one for each call would leave
// locks on eight relations each time, until the transaction ends.
const stageName = "pgbulk_stage"

// startCopy begins the exchange with the statements before and after the rows, all in one simple
// Query: the server works through them one after the other, reading the rows when it comes to COPY.
// We need not wait for it to say that it is ready for them; were it to fail before, it would ignore
// them (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY).
func (w *writer) startCopy() {
	w.openStream()
	w.stream.copies = true
	w.stream.query(w.script())
	w.stream.startCopy()
}

// script is the text of the Query.
func (w *writer) script() string {
	columns := quoteAll(w.table.Columns)
	if !w.staging {
		return w.sameTypes() + "copy " + w.table.Name.Sanitize() + " (" + columns + ") from stdin (format binary)"
	}
	var b strings.Builder
	if !w.inTx {
		b.WriteString("begin; ")
	}
	create := w.createStage()
	if w.inTx {
		create = ifMissing(w.stage, create)
	}
	b.WriteString(create)
	fmt.Fprintf(&b, "copy pg_temp.%s (%s) from stdin (format binary); ", w.stage, columns)
	if w.options.LocateWithin > 0 {
		fmt.Fprintf(&b, "savepoint %s; %s; release savepoint %s; ", savepoint, w.insertSelect(""), savepoint)
	} else {
		b.WriteString(w.insertSelect("") + "; ")
	}
	switch {
	case w.inTx:
		b.WriteString("truncate pg_temp." + w.stage)
	case w.returned == nil:
		b.WriteString("commit")
	}
	return b.String()
}

// sameTypes is a statement that fails if the types of the columns have changed since an earlier
// call. It is empty if there was none. The same bytes can be valid for both types, so COPY would
// not notice.
func (w *writer) sameTypes() string {
	if !w.kept {
		return ""
	}
	literal := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	types := make([]string, len(w.columns))
	for i, c := range w.columns {
		types[i] = "(" + literal(c.name) + "," + literal(w.layout.attributes[i].cast) + ")"
	}
	// The cast depends on n, so that the server does not evaluate it while planning.
	return fmt.Sprintf(`select from (select count(*) as n from pg_catalog.pg_attribute a where a.attrelid = %s::regclass and not a.attisdropped
	and (a.attname::text, format_type(a.atttypid, -1)) in (%s)) as same where case when n = %d then false
	else ('the table was altered: only ' || n || ' of %[3]d columns have the types that they had')::int = 0 end; `,
		literal(w.table.Name.Sanitize()), strings.Join(types, ","), len(types))
}

// createStage is the statements that make the stage, and gives it its name. Its values are not
// compressed (external): a large one is, once, on the way into the table. With the table's own
// storage, a value that compresses would be moved as it is, which saves 5% of the server's time.
// But one that does not compress would be tried twice, which costs 50% more, and one that is not
// written (SkipUnchanged) would be compressed for nothing. CREATE TABLE LIKE is not used: it needs
// the right to read the whole table.
func (w *writer) createStage() string {
	columns := strings.Join(w.stageColumns(), ", ")
	w.stage = stageName
	if w.inTx {
		w.stage += fmt.Sprintf("_%x", sha256.Sum256([]byte(columns)))[:17]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "create temporary table %s (%s) on commit drop; ", w.stage, columns)
	var alter []string
	for i, c := range w.columns {
		if w.layout.attributes[i].toasts || c.format != binaryFormat {
			alter = append(alter, "alter "+quote(c.name)+" set storage external")
		}
	}
	if len(alter) > 0 {
		fmt.Fprintf(&b, "alter table pg_temp.%s %s; ", w.stage, strings.Join(alter, ", "))
	}
	return b.String()
}

// ifMissing runs statements if there is no temporary table of that name. CREATE TABLE IF NOT EXISTS
// would send a notice each time that there is one.
func ifMissing(table, sql string) string {
	tag := "$do$"
	for strings.Contains(sql, tag) {
		tag = "$" + tag[1:len(tag)-1] + "o$"
	}
	return "do " + tag + " begin if to_regclass('pg_temp." + table + "') is null then " + sql + "end if; end " + tag + "; "
}

// stageColumns are the definitions of the stage's columns. Those that are sent as text are text
// there.
func (w *writer) stageColumns() []string {
	definitions := make([]string, len(w.columns))
	for i, c := range w.columns {
		definitions[i] = pgx.Identifier{c.name}.Sanitize() + " "
		if c.format == binaryFormat {
			definitions[i] += w.layout.attributes[i].definition
		} else {
			definitions[i] += "text"
		}
	}
	return definitions
}

// insertSelect is the statement that takes the rows out of the stage, those for which where holds.
func (w *writer) insertSelect(where string) string {
	var b strings.Builder
	b.WriteString(w.head + "select ")
	for i := range w.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(w.fromStage(i))
	}
	b.WriteString(" from pg_temp." + w.stage + where)
	// Without a condition, SELECT ... ON would be taken for a join's.
	if where == "" {
		b.WriteString(" where true")
	}
	if w.keyOrder() {
		b.WriteString(w.orderBy())
	}
	b.WriteString(w.tail)
	return b.String()
}

// orderBy sorts the rows that come out of a SELECT by the table's key, so that two calls that
// update the same rows lock them in the same order and cannot deadlock.
func (w *writer) orderBy() string {
	var key []string
	for i, is := range w.isKey {
		if is {
			key = append(key, w.fromStage(i)+w.layout.attributes[i].collation)
		}
	}
	return " order by " + strings.Join(key, ", ")
}

// keyOrder reports whether all rows must be sorted.
func (w *writer) keyOrder() bool { return w.sorts && w.options.Order == KeyOrder }

var errKeyOrder = errors.New("KeyOrder cannot sort the rows of several statements of Bind or Unnest: use Copy, which needs the right to make temporary tables")

// sorted reports whether the statement of Bind or Unnest is to be sorted: it has all of the call's
// rows.
func (w *writer) sorted() bool { return w.sorts && w.alone }

// fromStage is the i-th column as the stage has it, of the table's type.
func (w *writer) fromStage(i int) string {
	c := &w.columns[i]
	if c.format != binaryFormat {
		return quote(c.name) + "::" + w.layout.attributes[i].cast
	}
	return quote(c.name)
}

// copyRow writes a row straight to the stream. Nothing of it is kept that may change.
func (w *writer) copyRow(row []any) error {
	s := w.stream
	s.int16(len(row))
	anyLent := false
	for i, v := range row {
		lent, err := w.write(s, i, v)
		if err != nil {
			return &rowError{w.n, w.columns[i].name, err}
		}
		anyLent = anyLent || lent
	}
	if anyLent {
		s.flush()
	}
	return nil
}

// copyChunk writes the rows of the chunk.
func (w *writer) copyChunk() {
	for i := range w.chunk.rows() {
		w.stream.int16(len(w.columns))
		w.chunk.write(w.stream, i, i+1)
	}
	w.chunk.reset(w.n)
}
