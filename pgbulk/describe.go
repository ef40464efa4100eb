package pgbulk

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// layout is what the server says about a table.
type layout struct {
	columns    []column
	notNull    []string // columns that are declared NOT NULL, ours and others
	types      []string // SQL names of our columns' types
	mayStage   bool     // this role may make temporary tables here
	nullsAlike bool     // two keys with a NULL may be the same; otherwise they never are
	major      int      // the server's major version
}

const layoutQuery = `select a.attname, a.attnotnull, format_type(a.atttypid, a.atttypmod),
	has_database_privilege(current_database(), 'temp')
	from pg_attribute a where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped`

// describe asks the server for a table's columns, in one round trip, and in another about its indexes if a key may have NULLs.
// The types come from the description of a query: there a domain is the type that it is based on, which is what has a codec.
func describe(ctx context.Context, conn *pgx.Conn, t *Table, o *Options, b *buffers) (*layout, error) {
	pc := conn.PgConn()
	name := t.Name.Sanitize()
	s := open(ctx, pc, b)
	s.collect = true
	s.parse([]byte("select "+quoteAll(t.Columns)+" from "+name), nil, 0)
	s.about('D', "")
	s.parse([]byte(layoutQuery), nil, 0)
	s.bind("", []byte{textFormat}, 1, 4+len(name))
	s.int32(len(name))
	s.string(name)
	s.execute()
	s.sync()
	if err := s.close(); err != nil {
		return nil, err
	}
	l := &layout{}
	fields, rows := s.fields, s.rows
	if len(fields) != len(t.Columns) {
		return nil, fmt.Errorf("%d columns described, want %d", len(fields), len(t.Columns))
	}
	l.types = make([]string, len(fields))
	for _, r := range rows {
		if i := slices.Index(t.Columns, string(r[0])); i >= 0 {
			l.types[i] = string(r[2])
		}
		if string(r[1]) == "t" {
			l.notNull = append(l.notNull, string(r[0]))
		}
		l.mayStage = string(r[3]) == "t"
	}
	m := conn.TypeMap()
	for i, f := range fields {
		c := column{name: t.Columns[i], oid: f, shape: shapeOf(m, f)}
		if typ, ok := m.TypeForOID(c.oid); ok && typ.Codec.FormatSupported(binaryFormat) {
			c.format = binaryFormat
		}
		l.columns = append(l.columns, c)
	}
	version := pc.ParameterStatus("server_version")
	version = version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	l.major, _ = strconv.Atoi(version)
	nullable := func(key string) bool { return !slices.Contains(l.notNull, key) }
	if o.Conflict == DoUpdate && o.Constraint != "" && len(t.Key) == 0 {
		var err error
		if t.Key, err = constraintKey(ctx, conn, t, o, b); err != nil {
			return nil, err
		}
	}
	if o.Conflict == DoUpdate && l.major >= 15 && slices.ContainsFunc(t.Key, nullable) {
		var err error
		if l.nullsAlike, err = nullsAlike(ctx, conn, t, b); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// nullsQuery asks whether a unique index of just the columns $2, in the order of their names, has NULLS NOT DISTINCT.
const nullsQuery = `select exists (select from pg_index i where i.indrelid = $1::text::regclass and i.indisunique and i.indnullsnotdistinct
	and i.indpred is null and i.indexprs is null and $2::text[] = (select array_agg(k.attname::text order by k.attname)
	from pg_attribute k where k.attrelid = i.indrelid and k.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])))`

func nullsAlike(ctx context.Context, conn *pgx.Conn, t *Table, b *buffers) (bool, error) {
	name := t.Name.Sanitize()
	key, err := conn.TypeMap().Encode(pgtype.TextArrayOID, textFormat, slices.Compact(slices.Sorted(slices.Values(t.Key))), nil)
	if err != nil {
		return false, err
	}
	s := open(ctx, conn.PgConn(), b)
	s.collect = true
	s.parse([]byte(nullsQuery), nil, 0)
	s.bind("", []byte{textFormat, textFormat}, 2, 4+len(name)+4+len(key))
	s.int32(len(name))
	s.string(name)
	s.int32(len(key))
	s.bytes(key)
	s.execute()
	s.sync()
	if err := s.close(); err != nil {
		return false, err
	}
	return len(s.rows) == 1 && string(s.rows[0][0]) == "t", nil
}
