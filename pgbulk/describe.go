package pgbulk

import (
	"context"
	"fmt"
	"maps"
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
	rekeys     bool        // a trigger or rule may give a row that is inserted another key, or drop it
	triggers   bool        // it or a partition may have some, which may do that too
	major      int         // the server's major version
	oid        string      // of the table
	name       string      // the table's, with its schema
	role       string      // that is current
}

// attribute is a column as SQL has it.
type attribute struct {
	oid       uint32 // its type, which may be a domain
	cast      string // the type that a parameter for it has: a domain's base type, and without a length
	collation string // a COLLATE clause, if it is not the database's own
	folds     bool   // of its collation: texts that differ in bytes may be equal
	toasts    bool   // large values of its type may be stored apart from the row
	always    bool   // GENERATED ALWAYS
}

// layoutQuery asks about a table's columns. COPY
// (https://www.postgresql.org/docs/current/sql-copy.html) refuses a table under row-level security,
// does not apply rules, needs triggers to write to a view, overrides identity columns that are
// GENERATED ALWAYS, and does not check that a column that is left out may be NULL in its domain. In
// binary it looks up the input function of every column's type, even of columns that are not
// copied.
//
// Most of the server's time goes into planning it: subqueries take less of it than joins, and
// collations, which few columns name, have a query of their own.
func layoutQuery(major int) string {
	generated := "a.attgenerated <> ''"
	if major < 12 {
		generated = "false"
	}
	return `select a.attname, a.atttypid, format_type(a.atttypid, -1), a.attcollation,
	concat(a.attnotnull, a.atthasdef, a.attidentity = 'a' or ` + generated + `, a.atthasdef and not ` + generated + ` or a.attidentity <> ''),
	(select concat(t.typreceive <> 0, t.typtype = 'd' and t.typdefault is null, t.typstorage <> 'p',
		has_type_privilege(case when t.typtype = 'd' then t.typbasetype else t.oid end, 'usage')) from pg_type t where t.oid = a.atttypid),
	(select concat(c.relkind in ('r', 'p', 'f') and not c.relhasrules and not row_security_active(c.oid), has_database_privilege(current_database(), 'temp'),
		c.relkind = 'v' or c.relhasrules, c.relhastriggers or c.relkind = 'p',
		c.oid, ' ', c.relnamespace::regnamespace, '.', quote_ident(c.relname)) from pg_class c where c.oid = $1::text::regclass),
	current_user from pg_attribute a where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped`
}

// take takes what layoutQuery says about a column.
func (l *layout) take(columns []string, row [][]byte) error {
	name, own, typ, table := string(row[0]), flags(row[4]), flags(row[5]), flags(row[6])
	if own(0) {
		l.notNull = append(l.notNull, name)
	}
	l.direct = l.direct && typ(0) && table(0)
	l.mayStage, l.rekeys, l.triggers = l.mayStage && table(1), table(2), table(3)
	l.oid, l.name, _ = strings.Cut(string(row[6][4:]), " ")
	l.role = string(row[7])
	i := slices.Index(columns, name)
	if i < 0 {
		l.fills = l.fills || own(3)
		l.direct = l.direct && (own(1) || !typ(1))
		return nil
	}
	l.direct = l.direct && !own(2)
	l.mayStage = l.mayStage && typ(3)
	oid, err := strconv.ParseUint(string(row[1]), 10, 32)
	l.attributes[i] = attribute{oid: uint32(oid), cast: string(row[2]), collation: string(row[3]), toasts: typ(2), always: own(2)}
	return err
}

// flags reads booleans that concat has joined.
func flags(text []byte) func(i int) bool { return func(i int) bool { return text[i] == 't' } }

// collations are clauses by OID: those that are PostgreSQL's own have the same in every database.
var collations = map[string]string{"0": "", "100": "", "950": ` collate pg_catalog."C"`, "951": ` collate pg_catalog."POSIX"`}

// nameCollations puts clauses in place of the collations' OIDs.
func (l *layout) nameCollations(ctx context.Context, pc *pgconn.PgConn, b *buffers) error {
	named := maps.Clone(collations)
	var ask []string
	for _, a := range l.attributes {
		if _, ok := named[a.collation]; !ok {
			ask = append(ask, a.collation)
		}
	}
	if len(ask) > 0 {
		folds := "not collisdeterministic"
		if l.major < 12 {
			folds = "false"
		}
		rows, err := b.ask(ctx, pc, "select oid, case when "+folds+" then '~' else '' end || ' collate ' || collnamespace::regnamespace || '.' || quote_ident(collname) from pg_collation where oid = any($1::oid[])",
			"{"+strings.Join(ask, ",")+"}")
		if err != nil {
			return err
		}
		for _, r := range rows {
			named[string(r[0])] = string(r[1])
		}
	}
	for i := range l.attributes {
		a := &l.attributes[i]
		a.collation, a.folds = strings.CutPrefix(named[a.collation], "~")
	}
	return nil
}

// describe asks the server for a table's columns, in one round trip, for collations that columns
// name in another, and for the table's indexes in one more if a key may have NULLs. The types come
// from the description of a query, which gives a domain's base type: that is the type with a codec.
func describe(ctx context.Context, p *plan, b *buffers) (*layout, error) {
	conn, t, o := p.conn, &p.table, &p.options
	pc := conn.PgConn()
	name := t.Name.Sanitize()
	l := &layout{direct: true, mayStage: true}
	version := pc.ParameterStatus("server_version")
	version = version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	l.major, _ = strconv.Atoi(version)
	s := open(ctx, pc, b)
	s.collect = true
	columns := "*"
	if p.structs == nil {
		columns = quoteAll(t.Columns)
	}
	s.parse([]byte("select "+columns+" from "+name), nil, 0)
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
	if p.structs != nil {
		var err error
		if t.Columns, _, err = p.structs.columnsOf(s.names); err != nil {
			return nil, err
		}
		if err := t.checkColumns(); err != nil {
			return nil, err
		}
		fields = make([]uint32, 0, len(t.Columns))
		for _, c := range t.Columns {
			fields = append(fields, s.fields[slices.Index(s.names, c)])
		}
	}
	if len(fields) != len(t.Columns) {
		return nil, fmt.Errorf("%d columns described, want %d", len(fields), len(t.Columns))
	}
	l.attributes = make([]attribute, len(fields))
	for _, r := range rows {
		if err := l.take(t.Columns, r); err != nil {
			return nil, err
		}
	}
	for i, f := range fields {
		l.columns = append(l.columns, column{name: t.Columns[i], oid: f})
	}
	if err := l.nameCollations(ctx, pc, b); err != nil {
		return nil, err
	}
	if err := l.settleTypes(ctx, conn, b); err != nil {
		return nil, err
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

// triggerQuery returns a row if the table, or a partition, has a trigger for each row BEFORE INSERT
// (7 in tgtype), which may change keys.
const triggerQuery = `with recursive parts(oid) as (select $1::text::regclass::oid union all select i.inhrelid from pg_inherits i join parts p on p.oid = i.inhparent)
	select from parts p join pg_trigger g on g.tgrelid = p.oid and g.tgtype & 7 = 7 limit 1`

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

// settleTypes settles in which format the values of each column go, and as what type.
func (l *layout) settleTypes(ctx context.Context, conn *pgx.Conn, b *buffers) error {
	m := conn.TypeMap()
	var ask []uint32
	for i := range l.columns {
		c := &l.columns[i]
		c.shape = shapeOf(m, c.oid)
		typ, known := m.TypeForOID(c.oid)
		if known && !mustBeText(typ) && typ.Codec.FormatSupported(binaryFormat) {
			c.format = binaryFormat
		}
		if l.attributes[i].oid != c.oid || c.format != binaryFormat && (!known || c.oid >= firstUserType) {
			ask = append(ask, c.oid)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	types, err := b.typesOf(ctx, conn, ask)
	if err != nil {
		return err
	}
	for i := range l.columns {
		c := &l.columns[i]
		typ, asked := types[c.oid]
		if asked && c.format != binaryFormat && typ.label {
			c.format, c.shape = binaryFormat, shapeLabel
		}
		if l.attributes[i].oid != c.oid {
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

// typesQuery has the names with their schemas, since they are kept, and search_path may change.
const typesQuery = `select t.oid, coalesce(e.typnamespace, t.typnamespace)::regnamespace::text || '.' || quote_ident(coalesce(e.typname, t.typname)) ||
	case when e.oid is null then '' else '[]' end, p.prolang = 12 and p.prosrc in ('enum_recv', 'textrecv', 'varcharrecv')
	from pg_type t left join pg_type e on e.oid = t.typelem and e.typarray = t.oid
	left join pg_proc p on p.oid = t.typreceive where t.oid = any($1::oid[])`

// typesOf returns what the server says about types, which it is asked once for a connection.
func (b *buffers) typesOf(ctx context.Context, conn *pgx.Conn, oids []uint32) (map[uint32]serverType, error) {
	const key = "postage/pgbulk types"
	data := conn.PgConn().CustomData()
	known, ok := data[key].(map[uint32]serverType)
	if !ok {
		known = map[uint32]serverType{}
		data[key] = known
	}
	var ask []string
	for _, oid := range oids {
		if _, ok := known[oid]; !ok {
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
