//go:build unix

package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

// spec is a column type with all that can make a difference between a statement's parameter and
// COPY: lengths, declared encodings, collations, input functions.
type spec struct {
	sql  string
	key  bool
	to   string // what ALTER TABLE may make of it
	draw func(r source) any
}

// unfit are texts that some column refuses.
var unfit = map[string]bool{}

// oneOf draws one of some texts, and rarely the last, which does not fit.
func oneOf(texts ...string) func(r source) any {
	unfit[texts[len(texts)-1]] = true
	return func(r source) any {
		if r.intn(15) == 0 {
			return texts[len(texts)-1]
		}
		return texts[r.intn(len(texts)-1)]
	}
}

var specs = []spec{
	{"int4", true, "float4", func(r source) any { return r.intn(12) }},
	{"int8", true, "float8", func(r source) any { return int64(r.intn(12)) }},
	{"float4", false, "int4", func(r source) any { return float64(r.intn(9)) }},
	{"float8", false, "int8", func(r source) any { return float64(r.intn(9)) }},
	{"numeric(12,2)", true, "", func(r source) any { return float64(r.intn(6)) + []float64{0, 0.0049, 0.5}[r.intn(3)] }},
	{"numeric(12,2)", true, "", oneOf("1.0", "1.00", "1.0049", "2", "2.5", "99999999999")},
	{"numeric(4,1)[]", false, "", oneOf("{1.25,2}", "{}", "{NULL,3.14}", "{1e5}")},
	{"varchar(3)", true, "text", oneOf("abc", "abc  ", "ab", "a", "abcd")},
	{"varchar(3)[]", false, "", oneOf("{abc,a}", "{}", `{"abc  "}`, "{abcd}")},
	{"char(4)", true, "", oneOf("ab", "ab  ", "abcd", "abcde")},
	{"timestamp(0)", true, "", oneOf("2024-01-01 00:00:00.3", "2024-01-01 00:00:00", "2024-01-02 01:02:03.6", "2024-13-01")},
	{"timestamptz(0)", true, "", func(r source) any { return time.Date(2024, 1, 1+r.intn(3), 0, 0, r.intn(2), 400_000_000, time.UTC) }},
	{"time(0)", false, "", oneOf("01:02:03.6", "01:02:03", "25:00")},
	{"interval(0)", false, "", oneOf("1.6 seconds", "2 days", "x")},
	{"bit(3)", false, "", oneOf("101", "000", "10101")},
	{"bit(3)", false, "", oneOf("101", "000", "1")},
	{"varbit(3)", false, "", oneOf("101", "1", "", "10101")},
	{"xml", false, "", oneOf(`<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>`, `<?xml version="1.0" encoding="UTF-16"?><a/>`, "<a>é</a>", "<a>")},
	{"name", false, "", oneOf("short", strings.Repeat("é", 40), "x")},
	{"text collate nocase", true, "", oneOf("a", "A", "b", "B", "c")},
	{"citext", true, "", oneOf("a", "A", "b", "c")},
	{"text", true, "varchar", func(r source) any { return string([]byte{byte('a' + r.intn(8))}) }},
	{"regclass", false, "", oneOf("1259", "pg_class", "pg_type", "no table")},
	{"regclass", false, "", func(r source) any { return []any{1259, "pg_type"}[r.intn(2)] }},
	{"mood", false, "", oneOf("sad", "ok", "none")},
	{"jsonb", false, "", oneOf(`{"a": 1}`, "[1, 2]", "{")},
	{"bytea", false, "", func(r source) any { return blob(r) }},
}

// foreign is one random trial: a schema of its own with two tables that are alike.
type foreign struct {
	trial
	schema  string
	draws   []spec // of the trial's columns
	rekeyed bool   // a trigger makes the keys
	drops   bool   // a trigger drops rows
	alter   string // is run before the first row
	stops   int    // two roles take turns in one transaction, after so many rows; 0 if they do not
	refused bool
	nothing []pgbulk.Source // a source that is nil, in place of the rows
}

// newForeign draws a trial, and makes its tables.
func newForeign(t *testing.T, r source, conn *pgx.Conn) *foreign {
	f := &foreign{schema: fmt.Sprintf("s%d", r.Uint64())}
	script := []string{"create schema " + f.schema}
	must(t, conn, script[0])
	key, rest := specs[r.intn(len(specs))], []spec{}
	for !key.key {
		key = specs[r.intn(len(specs))]
	}
	if r.intn(4) == 0 {
		key = specs[0] // which a trigger can make
	}
	for range 1 + r.intn(4) {
		rest = append(rest, specs[r.intn(len(specs))])
	}
	definitions := []string{"k " + f.declare(t, r, conn, key, 0, true) + " primary key"}
	f.columns, f.key, f.draws = []string{"k"}, []string{"k"}, []spec{key}
	for i, s := range rest {
		column := fmt.Sprintf("c%d", i)
		definitions = append(definitions, column+" "+f.declare(t, r, conn, s, 0, false))
		if r.intn(3) > 0 {
			f.columns, f.draws = append(f.columns, column), append(f.draws, s)
		}
	}
	definitions = append(definitions, "ok int check (ok <> -1)")
	f.columns, f.draws = append(f.columns, "ok"), append(f.draws, spec{draw: func(r source) any { return r.intn(5) }})
	for _, name := range []string{"ours", "theirs"} {
		must(t, conn, "create table "+f.schema+"."+name+" ("+strings.Join(definitions, ", ")+")")
	}
	f.op = []operation{opInsert, opUpsert, opUpdate}[r.intn(3)]
	if f.op != opInsert { // most keys would be there
		f.fill(t, r, conn)
	}
	f.options = settings{Strategy: strategies[r.intn(len(strategies))], ChunkRows: []int{0, 0, 7, 100}[r.intn(4)]}
	f.trigger(t, r, conn, key)
	n := 1 + r.intn(12)
	if f.rekeyed {
		n += 8 // more than a statement, in some trials
	}
	if r.intn(8) == 0 {
		n = 300
	}
	seen := map[string]bool{}
	for range n {
		row := make([]any, len(f.draws))
		for i, s := range f.draws {
			row[i] = s.draw(r)
			// Of rows that are not there, one UPDATE reads the values where another does not, for all
			// or for each row.
			for text, ok := row[i].(string); ok && unfit[text] && f.op == opUpdate; text, ok = row[i].(string) {
				row[i] = s.draw(r)
			}
			if i > 0 && r.intn(10) == 0 {
				row[i] = nil
			}
		}
		if k := fmt.Sprint(row[0]); seen[k] && !f.rekeyed && r.intn(12) > 0 {
			continue // keys come again in some trials only
		} else {
			seen[k] = true
		}
		f.rows = append(f.rows, row)
	}
	if r.intn(6) == 0 {
		f.rows[len(f.rows)-1][len(f.columns)-1], f.refused = -1, true
	}
	i := r.intn(len(rest))
	for j, other := range rest {
		if other.to != "" {
			i = j
		}
	}
	switch {
	case r.intn(40) == 0:
		f.nothing = []pgbulk.Source{pgbulk.Values(nil), pgbulk.From(nil), pgbulk.Structs[struct{ K int }](nil), {}}[r.intn(4):][:1]
	case r.intn(3) == 0 && rest[i].to != "" && !strings.Contains(definitions[1+i], ".d"):
		f.alter = fmt.Sprintf("alter table %s.ours alter c%d type %s", f.schema, i, rest[i].to)
	case r.intn(4) == 0 && len(f.rows) > 1:
		f.stops = 1 + r.intn(len(f.rows)-1)
		if last := f.rows[len(f.rows)-1]; r.intn(4) == 0 && f.op != opUpdate {
			last[len(last)-1] = struct{}{} // is refused before anything is sent
		}
	}
	must(t, conn, fmt.Sprintf("grant all on schema %[1]s to one, two; grant all on all tables in schema %[1]s to one, two; grant all on all sequences in schema %[1]s to one, two", f.schema), pgx.QueryExecModeSimpleProtocol)
	return f
}

// declare is a column's type: the spec's, or a domain over it, or over that.
func (f *foreign) declare(t *testing.T, r source, conn *pgx.Conn, s spec, depth int, key bool) string {
	if depth > 1 || r.intn(3) > 0 {
		return s.sql
	}
	base, collation, _ := strings.Cut(f.declare(t, r, conn, s, depth+1, key), " collate")
	name := fmt.Sprintf("%s.d%d", f.schema, r.Uint32())
	if collation != "" {
		collation = " collate" + collation
	}
	extra := ""
	if !key {
		extra = []string{"", "", " not null", " check (value is not null)", " default null"}[r.intn(5)]
	}
	must(t, conn, "create domain "+name+" as "+base+collation+extra)
	return name
}

// fill has some rows in both tables.
func (f *foreign) fill(t *testing.T, r source, conn *pgx.Conn) {
	for range r.intn(8) {
		row := make([]any, len(f.draws))
		for i, s := range f.draws {
			row[i] = s.draw(r)
		}
		insert := f.trial
		insert.op = opInsert
		conn.Exec(t.Context(), insert.statement(pgx.Identifier{f.schema, "ours"})+" on conflict do nothing", append([]any{pgx.QueryExecModeDescribeExec}, row...)...)
	}
	must(t, conn, fmt.Sprintf("insert into %[1]s.theirs select * from %[1]s.ours", f.schema))
}

// trigger has the tables drop rows, or make their keys.
func (f *foreign) trigger(t *testing.T, r source, conn *pgx.Conn, key spec) {
	body := ""
	switch what := r.intn(10); {
	case f.op != opInsert && f.op != opUpsert:
	case what == 0:
		body = "if new.ok % 2 = 0 then return null; end if; return new;"
	case what <= 5 && strings.HasPrefix(key.sql, "int"):
		body = "new.k := nextval(tg_table_schema || '.' || tg_table_name || '_made'); return new;"
	}
	if body == "" {
		return
	}
	f.drops = strings.HasPrefix(body, "if")
	f.rekeyed = !f.drops
	must(t, conn, fmt.Sprintf(`create function %[1]s.f() returns trigger language plpgsql as $$ begin %[2]s end $$;
		create sequence %[1]s.ours_made start 1000; create sequence %[1]s.theirs_made start 1000;
		create trigger t before insert on %[1]s.ours for each row execute function %[1]s.f();
		create trigger t before insert on %[1]s.theirs for each row execute function %[1]s.f()`, f.schema, body), pgx.QueryExecModeSimpleProtocol)
}

// twice reports whether two rows of the call have the same key, as the server compares it.
func (f *foreign) twice(t *testing.T, conn *pgx.Conn) bool {
	cast := get[string](t, conn, "select format_type(atttypid, case when $2 then atttypmod else -1 end) || case when attcollation in (0, 100) then '' else ' collate ' || attcollation::regcollation end from pg_attribute where attrelid = $1::regclass and attname = 'k'", f.schema+".theirs", f.op == opUpsert)
	typ, collation, _ := strings.Cut(cast, " collate ")
	if collation != "" {
		collation = " collate " + collation
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if f.op == opUpdate { // a domain's length counts as the column's
		must(t, conn, "create temporary table keys (k text) on commit drop")
	} else {
		must(t, conn, "create temporary table keys (k "+typ+collation+") on commit drop")
		collation = ""
	}
	for _, row := range f.rows {
		v := row[0]
		if f.op == opUpdate {
			v = fmt.Sprint(v)
			if at, ok := row[0].(time.Time); ok {
				v = at.Format(time.RFC3339Nano)
			}
		}
		if _, err := tx.Exec(t.Context(), "insert into keys values ($1)", pgx.QueryExecModeDescribeExec, v); err != nil {
			return false // the call fails too
		}
	}
	k := "k"
	if f.op == opUpdate {
		k = "(k::" + f.draws[0].base() + ")" + collation
	}
	var again bool
	err = tx.QueryRow(t.Context(), "select exists (select from keys group by "+k+" having count(*) > 1)").Scan(&again)
	return err == nil && again // a key that cannot be read has the call fail too
}

// base is the type without a length.
func (s spec) base() string {
	name, _, _ := strings.Cut(s.sql, " collate")
	name, _, _ = strings.Cut(name, "(")
	if name == "char" {
		return "bpchar"
	}
	return name
}

// contents are the rows of a table; without their keys, if a trigger makes these.
func (f *foreign) contents(t *testing.T, conn *pgx.Conn, table string) string {
	row := "r::text"
	if f.rekeyed {
		row = "(to_jsonb(r) - 'k')::text"
	}
	return get[string](t, conn, "select count(*) || ': ' || coalesce(string_agg("+row+", ' ' order by "+row+"), '') from "+f.schema+"."+table+" r")
}

// run makes the call over conn, and the plain one, and says how they differ.
func (f *foreign) run(t *testing.T, direct, conn *pgx.Conn) string {
	if f.nothing != nil {
		return f.runNothing(t, conn)
	}
	before, dups := f.contents(t, direct, "ours"), f.twice(t, direct)
	call := func(db pgbulk.DB, rows [][]any) error {
		_, err := f.call(t.Context(), db, pgx.Identifier{f.schema, "ours"}, f.options, pgbulk.Values(func(yield func([]any) bool) {
			if f.alter != "" {
				must(t, direct, f.alter)
			}
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}))
		return err
	}
	var err error
	if f.stops == 0 {
		err = call(conn, f.rows)
	} else {
		err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			must(t, conn, "set local role one")
			if err := call(tx, f.rows[:f.stops]); err != nil {
				return err
			}
			must(t, conn, "set local role two")
			return call(tx, f.rows[f.stops:])
		})
	}
	if f.alter != "" {
		must(t, direct, strings.Replace(f.alter, ".ours", ".theirs", 1))
	}
	plainErr := f.plain(t.Context(), direct, pgx.Identifier{f.schema, "theirs"})
	ours, theirs := f.contents(t, direct, "ours"), f.contents(t, direct, "theirs")
	var pgErr *pgconn.PgError
	errors.As(err, &pgErr)
	again := (f.op == opUpsert || f.op == opUpdate) && dups && !f.rekeyed
	several := f.options.ChunkRows > 0 && (f.options.Strategy == pgbulk.Bind || f.options.Strategy == pgbulk.Unnest)
	switch {
	case err != nil && f.alter == "" && ours != before:
		return fmt.Sprintf("after %v there are\n%s, before\n%s", err, ours, before)
	case err != nil && (plainErr != nil || again && pgErr != nil && pgErr.Code == "21000" || f.alter != ""):
		return ""
	case err != nil || plainErr != nil:
		return fmt.Sprintf("error %v, plain pgx %v", err, plainErr)
	case again && !f.drops && f.op == opUpsert && !several && f.stops == 0:
		return "a key twice is no error"
	case again && f.op == opUpdate && !several && f.stops == 0 && f.touchedTwice(t, direct):
		return "a key twice is no error"
	case ours != theirs && !(again && several):
		return fmt.Sprintf("there are\n%s, with plain pgx\n%s", ours, theirs)
	}
	return ""
}

// runNothing makes the call without a source.
func (f *foreign) runNothing(t *testing.T, conn *pgx.Conn) (diff string) {
	defer func() {
		if p := recover(); p != nil {
			diff = fmt.Sprintf("without a source: panic: %v", p)
		}
	}()
	if _, err := f.call(t.Context(), conn, pgx.Identifier{f.schema, "ours"}, f.options, f.nothing[0]); err == nil {
		return "without a source: no error"
	}
	return ""
}

// touchedTwice reports whether a row of the table has a key that comes twice.
func (f *foreign) touchedTwice(t *testing.T, conn *pgx.Conn) bool {
	times := map[string]int{}
	for _, row := range f.rows {
		var id string
		err := conn.QueryRow(t.Context(), "select ctid::text from "+f.schema+".theirs where k = $1", pgx.QueryExecModeDescribeExec, row[0]).Scan(&id)
		if err == nil {
			times[id]++
		}
		if times[id] > 1 {
			return true
		}
	}
	return false
}

// TestForeign writes random tables with pgbulk and with plain pgx, one row at a time: with lengths,
// domains over everything, collations, triggers, roles, and alterations before the first row; and
// in part behind a PgBouncer, where there is one (TestPgpool says why not behind pgpool).
// POSTAGE_LONG has it run for 20 s, POSTAGE_LONG=hours for five minutes. POSTAGE_SEED begins with
// another table than a random one: a failure's seed comes first then.
func TestForeign(t *testing.T) {
	conn := connect(t)
	must(t, conn, types, pgx.QueryExecModeSimpleProtocol)
	must(t, conn, "do $$ begin create role one; create role two; exception when duplicate_object then end $$; create collation if not exists nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", pgx.QueryExecModeSimpleProtocol)
	conns := []*pgx.Conn{conn, connect(t)}
	trials, lasts := uint64(30), time.Duration(0)
	if longRun() {
		lasts = 20 * time.Second
	}
	if os.Getenv("POSTAGE_LONG") == "hours" {
		lasts = 5 * time.Minute
	}
	if _, err := exec.LookPath("pgbouncer"); err == nil {
		path, _, _ := pgbouncer(t)
		conns = append(conns, startPgBouncer(t, path, "default_pool_size = 1").connect(t, pgx.QueryExecModeDescribeExec))
	}
	seed := rand.Uint64()
	if s := os.Getenv("POSTAGE_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatalf("POSTAGE_SEED=%s: %v", s, err)
		}
	}
	start, rows := time.Now(), 0
	n := uint64(0)
	for ; n < trials || time.Since(start) < lasts; n++ {
		r := newSource(seed + n)
		f := newForeign(t, r, conn)
		over := 1 + r.intn(len(conns)-1)
		if diff := f.run(t, conn, conns[over]); diff != "" {
			t.Fatalf("POSTAGE_SEED=%d, after %.0f s and %d rows: connection %d, %s by %q, key %v, columns %v, rows %.600q, %+v, %q, roles after %d, key made %v\n%s\n%s", seed+n, time.Since(start).Seconds(), rows, over, f.op, f.options.Strategy, f.key, f.columns, fmt.Sprint(f.rows), f.options, f.alter, f.stops, f.rekeyed,
				get[string](t, conn, "select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ') from pg_attribute where attnum > 0 and attrelid = $1::regclass", f.schema+".theirs"), diff)
		}
		rows += len(f.rows)
		must(t, conn, "set client_min_messages = error; drop schema "+f.schema+" cascade", pgx.QueryExecModeSimpleProtocol)
	}
	t.Logf("from POSTAGE_SEED=%d: %d tables, %d rows", seed, n, rows)
}
