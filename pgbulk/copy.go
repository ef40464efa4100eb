package pgbulk

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// stage is the temporary table's name.
const stage = "pgbulk_stage"

// startCopy begins the exchange with the statements before and after the rows, all in one simple Query: the server
// works through them one after the other, reading the rows when it comes to COPY. We need not wait for it to say that it is
// ready for them; were it to fail before, it would ignore them
// (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY).
func (w *writer) startCopy() {
	w.stream = open(w.ctx, w.pc, w.buffers)
	w.stream.query(w.script())
	w.stream.startCopy()
}

// script is the text of the Query.
func (w *writer) script() string {
	columns := quoteAll(w.table.Columns)
	if !w.staging {
		return "copy " + w.table.Name.Sanitize() + " (" + columns + ") from stdin (format binary)"
	}
	var b strings.Builder
	if !w.inTx {
		b.WriteString("begin; ")
	}
	// The copy has each column's storage and compression, so that large values are compressed once, on the way
	// into it, and move on to the table as they are.
	fmt.Fprintf(&b, "create temporary table %s (like %s including storage", stage, w.table.Name.Sanitize())
	if w.layout.major >= 14 {
		b.WriteString(" including compression")
	}
	b.WriteString(") on commit drop; ")
	if alter := w.alterStage(); len(alter) > 0 {
		fmt.Fprintf(&b, "alter table pg_temp.%s %s; ", stage, strings.Join(alter, ", "))
	}
	fmt.Fprintf(&b, "copy pg_temp.%s (%s) from stdin (format binary); savepoint %s; %s; release savepoint %s; ",
		stage, columns, savepoint, w.insertSelect(""), savepoint)
	if w.inTx {
		fmt.Fprintf(&b, "drop table pg_temp.%s", stage)
	} else {
		b.WriteString("commit")
	}
	return b.String()
}

// alterStage takes back what LIKE copies and the stage must not have: NOT NULL, because the stage has no values for the
// table's other columns, and ours may still be filled in by a trigger; and types that have no binary codec here.
func (w *writer) alterStage() []string {
	var alter []string
	for _, c := range w.layout.notNull {
		alter = append(alter, "alter "+pgx.Identifier{c}.Sanitize()+" drop not null")
	}
	for _, c := range w.columns {
		if c.format != binaryFormat {
			alter = append(alter, "alter "+pgx.Identifier{c.name}.Sanitize()+" type text")
		}
	}
	return alter
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
	b.WriteString(" from pg_temp." + stage + where)
	// Without a condition, SELECT ... ON would be taken for a join's.
	if where == "" {
		b.WriteString(" where true")
	}
	b.WriteString(w.tail)
	return b.String()
}

// fromStage is the i-th column as the stage has it, of the table's type.
func (w *writer) fromStage(i int) string {
	c := &w.columns[i]
	if c.format != binaryFormat {
		return quote(c.name) + "::" + w.layout.types[i]
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
