package pgbulk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// layout is what the server says about a table.
type layout struct {
	relation   relation
	columns    []column
	attributes []attribute // of our columns
	all        []column    // the table's, as far as names and types go
	fills      bool        // the server fills in other columns, perhaps from a sequence
	direct     bool        // COPY straight into it does what INSERT does
	major      int         // the server's major version
	backend    string      // its process
}

// relation is the table itself.
type relation struct {
	oid, name string // the latter with its schema
	role      string // that is current
	mayStage  bool   // this role may make temporary tables like it here
	watched   bool   // there are event triggers, which that would fire and which may refuse it
	rekeys    bool   // a trigger or rule may give a row that is inserted another key, or drop it
	triggers  bool   // it or a partition may have some, which may do that too
}

// attribute is a column as SQL has it.
type attribute struct {
	oid       uint32 // its type, which may be a domain
	base      string // of a domain, the OID of the type that it is over, which may be one too
	cast      string // the type that a parameter for it has: a domain's base type, and without a length
	collation string // a COLLATE clause, if it is not the database's own
	folds     bool   // of its collation: texts that differ in bytes may be equal
	toasts    bool   // large values of its type may be stored apart from the row
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
	concat(a.atthasdef, a.attidentity = 'a' or ` + generated + `, a.atthasdef and not ` + generated + ` or a.attidentity <> ''),
	(select concat(t.typreceive <> 0, t.typtype = 'd' and t.typdefault is null, t.typstorage <> 'p',
		has_type_privilege(case when t.typtype = 'd' then t.typbasetype else t.oid end, 'usage'),
		case when t.typtype = 'd' then concat(t.typbasetype, ' ', format_type(t.typbasetype, -1)) end) from pg_type t where t.oid = a.atttypid),
	(select concat(c.relkind in ('r', 'p', 'f') and not c.relhasrules and not row_security_active(c.oid), has_database_privilege(current_database(), 'temp'),
		c.relkind = 'v' or c.relhasrules, c.relhastriggers or c.relkind = 'p',
		exists (select from pg_event_trigger where evtenabled <> 'D'),
		c.oid, ' ', c.relnamespace::regnamespace, '.', quote_ident(c.relname)) from pg_class c where c.oid = $1::text::regclass),
	current_user, pg_backend_pid() from pg_attribute a where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped`
}

// take takes what layoutQuery says about a column.
func (l *layout) take(columns []string, row [][]byte) error {
	name, own, typ, table := string(row[0]), flags(row[4]), flags(row[5]), flags(row[6])
	l.direct = l.direct && typ(0) && table(0)
	l.relation.mayStage, l.relation.rekeys, l.relation.triggers, l.relation.watched = l.relation.mayStage && table(1), table(2), table(3), table(4)
	l.relation.oid, l.relation.name, _ = strings.Cut(string(row[6][5:]), " ")
	l.relation.role, l.backend = string(row[7]), string(row[8])
	oid, err := strconv.ParseUint(string(row[1]), 10, 32)
	l.all = append(l.all, column{name: name, oid: uint32(oid)})
	i := slices.Index(columns, name)
	if i < 0 {
		l.fills = l.fills || own(2)
		l.direct = l.direct && (own(0) || !typ(1))
		return err
	}
	l.direct = l.direct && !own(1)
	l.relation.mayStage = l.relation.mayStage && typ(3)
	a := attribute{oid: uint32(oid), cast: string(row[2]), collation: string(row[3]), toasts: typ(2)}
	if base, name, ok := strings.Cut(string(row[5][4:]), " "); ok {
		a.base, a.cast = base, name
	}
	l.attributes[i] = a
	return err
}

// flags reads booleans that concat has joined.
func flags(text []byte) func(i int) bool { return func(i int) bool { return text[i] == 't' } }

// collations are COLLATE clauses by OID. PostgreSQL's own have the same OID in every database.
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

// recall takes what the connection knows of the table, if it does and the call may.
func (p *plan) recall() (known bool, err error) {
	list := connectionOf(p.conn).prepared.tables
	i := slices.IndexFunc(list, func(k *knownTable) bool { return k.serves(p) })
	if i < 0 || !p.mayKnow() {
		return false, nil
	}
	p.known = list[i]
	p.known.sent = nil
	l := p.known.layout
	p.layout = &l
	if p.structs != nil {
		p.table.Columns = p.known.table.Columns
		err = p.settings.check(&p.table)
	}
	return true, err
}

// learn has the server describe the table, and keeps the answer for the next call if it may.
func (p *plan) learn(ctx context.Context, b *buffers) (err error) {
	keep := p.mayKnow()
	all, guard := &connectionOf(p.conn).prepared, ""
	if keep && all.direct {
		guard = all.name()
	}
	if p.layout, err = describe(ctx, p, b, guard); keep {
		switch {
		case err == nil:
			all.keep(p, guard)
		case guard != "":
			all.forgotten = append(all.forgotten, guard)
		}
	}
	return err
}

// describe asks the server for a table's columns, in one round trip, for collations that columns
// name in another, and for the table's indexes in one more if a key may have NULLs. The types come
// from the description of a query, which gives a domain's base type: that is the type with a codec.
func describe(ctx context.Context, p *plan, b *buffers, guard string) (*layout, error) {
	t, pc := &p.table, p.conn.PgConn()
	name := t.Name.Sanitize()
	l := &layout{direct: true, relation: relation{mayStage: true}}
	fmt.Sscanf(pc.ParameterStatus("server_version"), "%d", &l.major)
	s := open(ctx, pc, b)
	s.answer.results = new(resultSet)
	columns := "*"
	if p.structs == nil {
		columns = quoteAll(t.Columns)
	}
	connectionOf(p.conn).prepared.closeForgotten(s)
	s.wire.parse(guard, "select "+columns+" from "+name, nil, 0)
	s.wire.message('D', "S"+guard)
	s.question(layoutQuery(l.major), name)
	s.sync()
	if err := s.close(ctx); err != nil {
		return nil, err
	}
	if p.structs != nil {
		var err error
		if t.Columns, _, err = p.structs.columnsOf(s.answer.results.names); err != nil {
			return nil, err
		}
		if err := p.settings.check(t); err != nil {
			return nil, err
		}
	}
	for _, c := range t.Columns {
		i := slices.Index(s.answer.results.names, c)
		if i < 0 {
			return nil, fmt.Errorf("column %q was not described", c)
		}
		l.columns = append(l.columns, column{name: c, oid: s.answer.results.fields[i]})
	}
	l.attributes = make([]attribute, len(t.Columns))
	for _, r := range s.answer.results.rows {
		if err := l.take(t.Columns, r); err != nil {
			return nil, err
		}
	}
	if err := l.nameCollations(ctx, pc, b); err != nil {
		return nil, err
	}
	if err := l.settleTypes(ctx, p.conn, b); err != nil {
		return nil, err
	}
	return l, nil
}

// triggerQuery returns a row if the table, or a partition, has a trigger for each row BEFORE INSERT
// (7 in tgtype), which may change keys.
const triggerQuery = `with recursive parts(oid) as (select $1::text::regclass::oid union all select i.inhrelid from pg_inherits i join parts p on p.oid = i.inhparent)
	select from parts p join pg_trigger g on g.tgrelid = p.oid and g.tgtype & 7 = 7 limit 1`

// bytesDecide reports whether two keys are equal only if their bytes are. It knows the types that
// keys mostly have; of others, such as numeric with its 1.0 and 1.00, it says no.
func (l *layout) bytesDecide(key []string) bool {
	for i, c := range l.columns {
		if !slices.Contains(key, c.name) {
			continue
		}
		switch c.oid {
		case pgtype.TextOID, pgtype.VarcharOID:
			if l.attributes[i].folds {
				return false
			}
		case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.BoolOID, pgtype.UUIDOID, pgtype.ByteaOID, pgtype.OIDOID,
			pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		default:
			return false
		}
	}
	return true
}

// collation is the COLLATE clause of one of our columns, if it has one.
func (l *layout) collation(column string) string {
	for i, c := range l.columns {
		if c.name == column {
			return l.attributes[i].collation
		}
	}
	return ""
}
