package pgbulk

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// settleTypes settles in which format the values of each column go, and as what type.
func (l *layout) settleTypes(ctx context.Context, conn *pgx.Conn, b *buffers) error {
	m := conn.TypeMap()
	var ask []uint32
	named := false
	for i := range l.columns {
		c := &l.columns[i]
		c.shape = shapeOf(m, c.oid)
		typ, known := m.TypeForOID(c.oid)
		if known && !mustBeText(typ) && typ.Codec.FormatSupported(binaryFormat) {
			c.format = binaryFormat
		}
		named = named || l.nested(i)
		if l.nested(i) || c.format != binaryFormat && (!known || c.oid >= firstUserType) {
			ask = append(ask, c.oid)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	types, err := b.typesOf(ctx, conn, ask, named)
	if err != nil {
		return err
	}
	for i := range l.columns {
		c := &l.columns[i]
		typ, asked := types[c.oid]
		if asked && c.format != binaryFormat && typ.label {
			c.format, c.shape = binaryFormat, shapeLabel
		}
		if l.nested(i) {
			l.attributes[i].cast = typ.name
		}
	}
	return nil
}

// firstUserType is the OID from which on types are not PostgreSQL's own (FirstNormalObjectId).
const firstUserType = 16384

// mustBeText reports whether a type is not the same in binary: pgx prefers text for it, and has a
// reason. The server decodes binary xml as its declaration says, and refuses a binary name that it
// would cut in text. Of arrays, for which pgx always prefers binary, their elements decide.
func mustBeText(t *pgtype.Type) bool {
	switch codec := t.Codec.(type) {
	case *pgtype.ArrayCodec:
		return mustBeText(codec.ElementType)
	case *pgtype.EnumCodec, *pgtype.JSONCodec, *pgtype.JSONBCodec:
		return false
	case pgtype.TextCodec:
		return t.OID != pgtype.TextOID && t.OID != pgtype.VarcharOID && t.OID != pgtype.BPCharOID
	}
	return t.Codec.PreferredFormat() == textFormat
}

// serverType is what the server says about a type that is no domain.
type serverType struct {
	name  string
	label bool // its values are the same in binary as in text: an enum, or text by another name, such as citext
}

// nested reports whether the i-th column's type is a domain over another domain.
func (l *layout) nested(i int) bool {
	base := l.attributes[i].base
	return base != "" && base != strconv.FormatUint(uint64(l.columns[i].oid), 10)
}

// typesQuery has the names with their schemas.
const typesQuery = `select t.oid, coalesce(e.typnamespace, t.typnamespace)::regnamespace::text || '.' || quote_ident(coalesce(e.typname, t.typname)) ||
	case when e.oid is null then '' else '[]' end, p.prolang = 12 and p.prosrc in ('enum_recv', 'textrecv', 'varcharrecv')
	from pg_type t left join pg_type e on e.oid = t.typelem and e.typarray = t.oid
	left join pg_proc p on p.oid = t.typreceive where t.oid = any($1::oid[])`

// typesOf returns what the server says about types, which it is asked once for a connection, unless
// their names matter, which may change.
func (b *buffers) typesOf(ctx context.Context, conn *pgx.Conn, oids []uint32, named bool) (map[uint32]serverType, error) {
	known := connectionOf(conn).types
	var ask []string
	for _, oid := range oids {
		if _, ok := known[oid]; !ok || named {
			ask = append(ask, strconv.FormatUint(uint64(oid), 10))
		}
	}
	if len(ask) == 0 {
		return known, nil
	}
	rows, err := b.ask(ctx, conn.PgConn(), typesQuery, "{"+strings.Join(ask, ",")+"}")
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		oid, err := strconv.ParseUint(string(r[0]), 10, 32)
		if err != nil {
			return nil, err
		}
		known[uint32(oid)] = serverType{name: string(r[1]), label: string(r[2]) == "t"}
	}
	return known, nil
}
