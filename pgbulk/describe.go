package pgbulk

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// layout is what the server says about a table.
type layout struct {
	columns    []column
	attributes []attribute // of our columns
	notNull    []string    // columns that are declared NOT NULL, ours and others
	fills      bool        // the server fills in other columns, perhaps from a sequence
	direct     bool        // COPY straight into it does what INSERT does
	mayStage   bool        // this role may make temporary tables like it here
	nullsAlike bool        // two keys with a NULL may be the same; otherwise they never are
	major      int         // the server's major version
}

// attribute is a column as SQL has it.
type attribute struct {
	cast       string // its type without a length, to which text is cast: casts to a type with one cut values short
	definition string // its type and collation, as in CREATE TABLE
	collation  string // a COLLATE clause, if it is not the type's own
	toasts     bool   // large values of its type may be stored apart from the row
}

// layoutQuery asks about a table's columns. COPY
// (https://www.postgresql.org/docs/current/sql-copy.html) refuses a table under row-level security,
// does not apply rules, needs triggers to write to a view, and overrides identity columns that are
// GENERATED ALWAYS. In binary it looks up the input function of every column's type, even of
// columns that are not copied.
func layoutQuery(major int) string {
	generated := "a.attgenerated <> ''"
	if major < 12 {
		generated = "false"
	}
	return `select a.attname, a.attnotnull, format_type(a.atttypid, -1), format_type(a.atttypid, a.atttypmod),
	coalesce((select ' collate ' || quote_ident(n.nspname) || '.' || quote_ident(l.collname)
		from pg_collation l join pg_namespace n on n.oid = l.collnamespace where l.oid = a.attcollation and a.attcollation <> t.typcollation), ''),
	t.typstorage <> 'p',
	c.relkind in ('r', 'p', 'f') and not c.relhasrules and not row_security_active(c.oid) and a.attidentity <> 'a' and not ` + generated + `,
	has_database_privilege(current_database(), 'temp') and has_type_privilege(t.oid, 'usage'),
	a.atthasdef and not ` + generated + ` or a.attidentity <> '', t.typreceive <> 0
	from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
	where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped`
}

// describe asks the server for a table's columns, in one round trip, and for its indexes in another
// if a key may have NULLs. The types come from the description of a query, which gives a domain's
// base type: that is the type with a codec.
func describe(ctx context.Context, conn *pgx.Conn, t *Table, o *Options, b *buffers) (*layout, error) {
	pc := conn.PgConn()
	name := t.Name.Sanitize()
	l := &layout{direct: true, mayStage: true}
	version := pc.ParameterStatus("server_version")
	version = version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	l.major, _ = strconv.Atoi(version)
	s := open(ctx, pc, b)
	s.collect = true
	s.parse([]byte("select "+quoteAll(t.Columns)+" from "+name), nil, 0)
	s.about('D', "")
	s.parse([]byte(layoutQuery(l.major)), nil, 0)
	s.bind("", []byte{textFormat}, 1, 4+len(name))
	s.int32(len(name))
	s.string(name)
	s.execute()
	s.sync()
	if err := s.close(); err != nil {
		return nil, err
	}
	fields, rows := s.fields, s.rows
	if len(fields) != len(t.Columns) {
		return nil, fmt.Errorf("%d columns described, want %d", len(fields), len(t.Columns))
	}
	l.attributes = make([]attribute, len(fields))
	for _, r := range rows {
		if string(r[1]) == "t" {
			l.notNull = append(l.notNull, string(r[0]))
		}
		l.direct = l.direct && string(r[9]) == "t"
		i := slices.Index(t.Columns, string(r[0]))
		if i < 0 {
			l.fills = l.fills || string(r[8]) == "t"
			continue
		}
		l.attributes[i] = attribute{cast: string(r[2]), definition: string(r[3]) + string(r[4]), collation: string(r[4]), toasts: string(r[5]) == "t"}
		l.direct = l.direct && string(r[6]) == "t"
		l.mayStage = l.mayStage && string(r[7]) == "t"
	}
	m := conn.TypeMap()
	unknown := false
	for i, f := range fields {
		c := column{name: t.Columns[i], oid: f, shape: shapeOf(m, f)}
		typ, ok := m.TypeForOID(c.oid)
		if ok && typ.Codec.FormatSupported(binaryFormat) {
			c.format = binaryFormat
		}
		unknown = unknown || !ok
		l.columns = append(l.columns, c)
	}
	if unknown {
		if err := findLabels(ctx, conn, l.columns, b); err != nil {
			return nil, err
		}
	}
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

// nullsQuery asks whether a unique index of just the columns $2, in the order of their names, has
// NULLS NOT DISTINCT.
const nullsQuery = `select exists (select from pg_index i where i.indrelid = $1::text::regclass and i.indisunique and i.indnullsnotdistinct
	and i.indpred is null and i.indexprs is null and $2::text[] = (select array_agg(k.attname::text order by k.attname)
	from pg_attribute k where k.attrelid = i.indrelid and k.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])))`

func nullsAlike(ctx context.Context, conn *pgx.Conn, t *Table, b *buffers) (bool, error) {
	key, err := conn.TypeMap().Encode(pgtype.TextArrayOID, textFormat, slices.Compact(slices.Sorted(slices.Values(t.Key))), nil)
	if err != nil {
		return false, err
	}
	rows, err := b.ask(ctx, conn.PgConn(), nullsQuery, t.Name.Sanitize(), string(key))
	return len(rows) == 1 && string(rows[0][0]) == "t", err
}

// ask runs a query of our own, with its parameters and what it returns as text.
func (b *buffers) ask(ctx context.Context, pc *pgconn.PgConn, sql string, params ...string) ([][][]byte, error) {
	s := open(ctx, pc, b)
	s.collect = true
	s.parse([]byte(sql), nil, 0)
	size := 0
	for _, p := range params {
		size += 4 + len(p)
	}
	s.bind("", []byte{textFormat}, len(params), size)
	for _, p := range params {
		s.int32(len(p))
		s.string(p)
	}
	s.execute()
	s.sync()
	if err := s.close(); err != nil {
		return nil, err
	}
	return s.rows, nil
}

// labelQuery asks which types' values are the same in binary as in text: enums, and what is text by
// another name, such as citext.
const labelQuery = `select t.oid, p.prolang = 12 and p.prosrc in ('enum_recv', 'textrecv', 'varcharrecv')
	from pg_type t left join pg_proc p on p.oid = t.typreceive where t.oid = any($1::oid[])`

// findLabels marks the columns of types that the type map does not know and that take text as it
// is. The server is asked once for a type and connection.
func findLabels(ctx context.Context, conn *pgx.Conn, columns []column, b *buffers) error {
	const key = "postage/pgbulk labels"
	data := conn.PgConn().CustomData()
	known, ok := data[key].(map[uint32]bool)
	if !ok {
		known = map[uint32]bool{}
		data[key] = known
	}
	var ask []string
	for _, c := range columns {
		_, mapped := conn.TypeMap().TypeForOID(c.oid)
		if _, ok := known[c.oid]; !ok && !mapped {
			ask = append(ask, strconv.FormatUint(uint64(c.oid), 10))
		}
	}
	if len(ask) > 0 {
		oids := "{" + strings.Join(ask, ",") + "}"
		rows, err := b.ask(ctx, conn.PgConn(), labelQuery, oids)
		if err != nil {
			return err
		}
		for _, r := range rows {
			oid, err := strconv.ParseUint(string(r[0]), 10, 32)
			if err != nil {
				return err
			}
			known[uint32(oid)] = string(r[1]) == "t"
		}
	}
	for i := range columns {
		if c := &columns[i]; known[c.oid] {
			c.format, c.shape = binaryFormat, shapeLabel
		}
	}
	return nil
}
