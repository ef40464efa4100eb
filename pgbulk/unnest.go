package pgbulk

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// arrayTypes returns the types of arrays of the columns' types, or nil if unnest cannot give the
// columns back: one has to be sent as text, is an array itself (unnest would take it apart too), or
// has no array type that the type map knows.
func arrayTypes(m *pgtype.Map, columns []column) (types []uint32) {
	for _, c := range columns {
		t, known := m.TypeForOID(c.oid)
		if !known || c.format != binaryFormat {
			return nil
		}
		if _, isArray := t.Codec.(*pgtype.ArrayCodec); isArray {
			return nil
		}
		array, known := m.TypeForName("_" + t.Name)
		if !known {
			return nil
		}
		types = append(types, array.OID)
	}
	return types
}

// field is a value of a chunk with its length before it.
type field struct {
	at, n int // where it is in data; of a value that is referred to, what comes before it
	ref   int // which of refs it is, -1 if all of it is in data
}

// unnestHeader is what a binary array has before its elements: the number of dimensions, whether
// there are NULLs, the type of the elements, their number, and the index of the first; see
// array_recv in PostgreSQL's arrayfuncs.c.
const unnestHeader = 5 * 4

// writeArrays writes the chunk as one INSERT ... SELECT with an array a column. The server takes one
// element of each array for a row
// (https://www.postgresql.org/docs/current/xfunc-sql.html#XFUNC-SQL-FUNCTIONS-RETURNING-SET). An
// element of a binary array looks as a parameter does. The statement is the same for any number of
// rows, and is parsed once.
func (b *bind) writeArrays() {
	buf, s := b.session.buf, &b.session.stream.wire
	c, columns := &buf.chunk, len(b.session.enc.columns)
	parse := b.parsed != unnested
	if parse {
		b.sign()
		b.parse(unnested, b.arrays, columns)
	}
	buf.fields, buf.sizes = c.appendFields(buf.fields[:0], buf.sizes, columns)
	size := c.size() + columns*(4+unnestHeader)
	s.bind(b.statement, buf.formats, columns, size+b.session.plan.resultFormats())
	for i, column := range b.session.enc.columns {
		s.int32(unnestHeader + buf.sizes[i])
		s.int32(1) // dimension
		s.int32(1) // NULLs are allowed
		s.int32(int(column.oid))
		s.int32(c.rows())
		s.int32(1)
		for j := i; j < len(buf.fields); j += columns {
			f := buf.fields[j]
			s.bytes(c.data[f.at : f.at+f.n])
			if f.ref >= 0 {
				s.refer(c.refs[f.ref].value)
			}
		}
	}
	b.execute()
	b.hurry(parse)
}

// appendSelect appends the statement.
func (b *bind) appendSelect(sql []byte) []byte {
	list := make([]string, len(b.session.enc.columns))
	for i := range list {
		list[i] = fmt.Sprintf("unnest($%d)", i+1)
	}
	return b.appendStatement(sql, "select "+strings.Join(list, ","), true)
}

// unnested stands for the number of rows of a statement that takes any.
const unnested = -1

// appendFields appends all fields, row by row, and returns how many bytes each column has.
func (c *chunk) appendFields(dst []field, sizes []int, columns int) ([]field, []int) {
	sizes = append(sizes[:0], make([]int, columns)...)
	at, ref := 0, 0
	for i := range c.rows() * columns {
		f := field{at: at, n: 4 + max(0, int(int32(binary.BigEndian.Uint32(c.data[at:])))), ref: -1}
		size := f.n
		// A field whose value is referred to has its length here, and perhaps the byte that jsonb
		// begins with.
		if ref < len(c.refs) && c.refs[ref].at <= at+5 {
			f.n, f.ref = c.refs[ref].at-at, ref
			size = f.n + len(c.refs[ref].value)
			ref++
		}
		at += f.n
		dst, sizes[i%columns] = append(dst, f), sizes[i%columns]+size
	}
	return dst, sizes
}
