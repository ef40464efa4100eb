package pgbulk

import (
	"encoding/binary"
	"strconv"

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

// unnest is bind with one INSERT ... SELECT for each chunk, and an array a column, whose elements
// unnest has in step
// (https://www.postgresql.org/docs/current/xfunc-sql.html#XFUNC-SQL-FUNCTIONS-RETURNING-SET). An
// element of a binary array looks as a parameter does. The statement is the same for any number of
// rows, and is parsed once.
type unnest struct {
	bind
	arrays []uint32 // types of arrays of the columns' types; nil if unnest cannot give the columns back
}

func newUnnest(c *call) *unnest {
	u := &unnest{bind: bind{session: c}}
	u.bind.write = u.write
	return u
}

func (u *unnest) begin([]any) { u.arrays = arrayTypes(u.session.m, u.session.columns) }

func (u *unnest) late() { u.arrays, u.parsed = nil, 0 }

func (u *unnest) name() Strategy {
	if u.arrays == nil && u.session.n > 0 {
		return Bind
	}
	return Unnest
}

// write writes the chunk.
func (u *unnest) write() {
	c, s, columns := &u.session.chunk, u.session.stream, len(u.session.columns)
	if u.arrays == nil || u.out != nil || c.rows() == 1 {
		u.values()
		return
	}
	parse := u.parsed != unnested
	if parse {
		u.sign()
		u.appendSelect()
		u.statement = u.session.prepare(u.arrays, columns, true)
		u.parsed = unnested
	}
	u.session.fields, u.session.sizes = c.appendFields(u.session.fields[:0], u.session.sizes, columns)
	s.bind(u.statement, u.session.formats, columns, c.size()+columns*(4+unnestHeader)+u.session.resultFormats())
	for i := range columns {
		s.int32(unnestHeader + u.session.sizes[i])
		s.int32(1) // dimension
		s.int32(1) // NULLs are allowed
		s.int32(int(u.session.columns[i].oid))
		s.int32(c.rows())
		s.int32(1)
		for j := i; j < len(u.session.fields); j += columns {
			f := u.session.fields[j]
			s.bytes(c.data[f.at : f.at+f.n])
			if f.ref >= 0 {
				s.refer(c.refs[f.ref].value)
			}
		}
	}
	u.execute()
	u.hurry(parse)
}

// appendSelect makes the statement.
func (u *unnest) appendSelect() {
	head, tail := u.parts()
	u.session.sql = append(u.session.sql[:0], head...)
	if u.sorted() {
		u.session.sql = append(u.session.sql, "select * from ("...)
	}
	for i := range u.session.columns {
		before := ","
		if i == 0 {
			before = "select "
		}
		u.session.sql = append(append(u.session.sql, before...), "unnest($"...)
		u.session.sql = append(strconv.AppendInt(u.session.sql, int64(i+1), 10), ')')
	}
	if u.sorted() {
		u.session.sql = append(u.session.sql, u.asSorted()...)
	}
	u.session.sql = append(u.session.sql, tail...)
}

// unnested stands for the number of rows of a statement that takes any.
const unnested = -1

// appendFields appends all fields, row by row, and returns how many bytes those of each column have
// together.
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
