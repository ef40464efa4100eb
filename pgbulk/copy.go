package pgbulk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// stageName is the temporary table's name, or its beginning: in the caller's transaction there is
// one for each role and set of columns, for all calls. Creating and dropping one for each call
// would leave locks on eight relations each time, until the transaction ends.
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

// script is the text of the Query. Outside of a transaction it begins one: a pooler between the two
// then leaves us the server's connection until an error has been answered, and with it the rest of
// the rows, which are already on their way.
func (w *writer) script() string {
	var b strings.Builder
	if !w.inTx {
		b.WriteString("begin; ")
	}
	columns := quoteAll(w.table.Columns)
	if w.staging {
		w.stagedScript(&b, columns)
	} else {
		b.WriteString("copy " + w.table.Name.Sanitize() + " (" + columns + ") from stdin (format binary); " + w.sameTypes())
	}
	if !w.inTx && w.returned == nil {
		b.WriteString("; commit")
	}
	return b.String()
}

func (w *writer) stagedScript(b *strings.Builder, columns string) {
	create := w.createStage()
	if w.inTx {
		create = ifMissing(w.stage, create)
	}
	b.WriteString(create)
	fmt.Fprintf(b, "copy pg_temp.%s (%s) from stdin (format binary); ", w.stage, columns)
	if w.options.LocateWithin > 0 {
		fmt.Fprintf(b, "savepoint %s; %s; release savepoint %s", savepoint, w.insertSelect(""), savepoint)
	} else {
		b.WriteString(w.insertSelect(""))
	}
	if w.inTx {
		b.WriteString("; truncate pg_temp." + w.stage)
	}
}

// altered is what sameTypes finds in place of a number, before a list of type OIDs.
const altered = "pgbulk: altered "

// sameTypes is a statement that fails if the table, or the types of its columns, are no longer what
// was described: the same bytes can be valid for both types, so COPY would not notice. It comes
// after COPY, whose lock keeps others from altering the table. The types are those of a row's
// fields, for which the server need not search its catalogs. What differs is no integer.
func (w *writer) sameTypes() string {
	types, want := make([]string, len(w.columns)), make([]string, len(w.columns))
	for i, c := range w.columns {
		types[i] = "pg_catalog.pg_typeof((null::" + w.layout.name + ")." + quote(c.name) + ")::pg_catalog.oid"
		want[i] = strconv.FormatUint(uint64(w.layout.attributes[i].oid), 10)
	}
	return fmt.Sprintf("select nullif(pg_catalog.concat_ws(' ', '%s', '%s'::pg_catalog.regclass::pg_catalog.oid, %s), '%[1]s %[4]s %s')::pg_catalog.int4",
		strings.TrimSpace(altered), strings.ReplaceAll(w.table.Name.Sanitize(), "'", "''"), strings.Join(types, ", "), w.layout.oid, strings.Join(want, " "))
}

// alteredError is the error that sameTypes led to, in words.
func (w *writer) alteredError(e *pgconn.PgError) error {
	_, found, ok := strings.Cut(e.Message, altered)
	if !ok {
		return nil
	}
	var now []string
	for _, oid := range strings.Fields(strings.TrimRight(found, `"`))[1:] { // the first is the table's
		n, _ := strconv.ParseUint(oid, 10, 32)
		if t, known := w.m.TypeForOID(uint32(n)); known {
			oid = t.Name
		}
		now = append(now, oid)
	}
	return fmt.Errorf("the table was altered after this call, or its Writer, asked about it: %s now are {%s}: make the call again", quoteAll(w.table.Columns), strings.Join(now, ","))
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
		w.stage += fmt.Sprintf("_%x", sha256.Sum256([]byte(w.layout.role+"\x00"+columns)))[:17]
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

// stageColumns are the definitions of the stage's columns. They have the types of parameters, as an
// INSERT with VALUES has: only the way into the table cuts, rounds, or refuses. What is sent as
// text is text there.
func (w *writer) stageColumns() []string {
	definitions := make([]string, len(w.columns))
	for i, c := range w.columns {
		definitions[i] = pgx.Identifier{c.name}.Sanitize() + " "
		if a := w.layout.attributes[i]; c.format == binaryFormat {
			definitions[i] += a.cast + a.collation
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

// fromStage is the i-th column as the stage has it, of a parameter's type. Text is to be read by
// the type's input function. A cast does that for PostgreSQL's own types, but for regclass. Other
// types may have a cast from text that does something else; an array is always read by input
// functions.
func (w *writer) fromStage(i int) string {
	c, cast := &w.columns[i], w.layout.attributes[i].cast
	switch {
	case c.format == binaryFormat:
		return quote(c.name)
	case c.oid < firstUserType && c.oid != regclassOID || strings.HasSuffix(cast, "]"):
		return quote(c.name) + "::" + cast
	}
	return "(array[" + quote(c.name) + "]::text::" + cast + "[])[1]"
}

// pastCopy follows a COPY that failed with a query, which fails in the aborted transaction. The
// server may have ended the COPY before it had our CopyDone or CopyFail, and ignores them then. A
// PgBouncer from 1.21 on counts them as requests that wait for an answer until the next error, and
// else leaves this connection the server's for good.
func (w *writer) pastCopy() {
	if s := w.stream; !s.copies || s.copied >= 0 || !s.ready || w.pc.TxStatus() != 'E' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), CancelGrace)
	defer cancel()
	w.exec(ctx, w.pc, "select")
}

const regclassOID = 2205

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
