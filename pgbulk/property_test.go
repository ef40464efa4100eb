package pgbulk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"postage/pgbulk"
)

// kind is a column type and its values.
type kind struct {
	sql  string
	draw func(r source) any
}

// A source is where the values' randomness comes from.
type source struct {
	*rand.Rand
	percent int // how much of its most a size may be
}

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 0)), 100} }

func (s source) intn(n int) int { return s.IntN(n) }

// size is at most n.
func (s source) size(n int) int { return s.IntN(1 + n*s.percent/100) }

func (s source) bool() bool { return s.IntN(2) == 0 }

func (s source) kind() kind { return kinds[s.IntN(len(kinds))] }

// settings are those that every call has.
func (s source) settings() settings {
	return settings{Strategy: strategies[s.IntN(len(strategies))], ChunkRows: s.IntN(8)}
}

// word is any UTF-8 but zero bytes.
func (s source) word() string {
	const alphabet = `aZ0 "'\,{}()[];:%` + "\t\n\u00e9\u4e16\U0001f600"
	letters := []rune(alphabet)
	w := make([]rune, s.IntN(12))
	for i := range w {
		w[i] = letters[s.IntN(len(letters))]
		if s.IntN(8) == 0 {
			w[i] = 1 + s.Int32N(unicode.MaxRune)
		}
	}
	return string(w)
}

// property checks with many random sources. The sizes that they draw grow, so that what fails first
// is small. POSTAGE_SEED has it check with a failure's seed alone.
func property(t *testing.T, check func(r source)) {
	t.Helper()
	const percents = 100
	seed, step := rand.Uint64N(1<<50)*percents, percents/short(25, 100)
	end := seed + percents
	if s := os.Getenv("POSTAGE_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("POSTAGE_SEED=%s: %v", s, err)
		}
		end = seed + 1
	}
	defer func() {
		if t.Failed() {
			t.Logf("POSTAGE_SEED=%d", seed)
		}
	}()
	for ; seed < end; seed += uint64(step) {
		r := newSource(seed)
		r.percent = int(seed%percents) + 1
		check(r)
	}
}

func integer(r source, bits int) int64 {
	switch r.intn(6) {
	case 0:
		return 0
	case 1:
		return math.MinInt64 >> (64 - bits)
	case 2:
		return math.MaxInt64 >> (64 - bits)
	}
	return (int64(r.intn(1<<30))<<33 ^ int64(r.intn(1<<30))<<3 ^ int64(r.intn(8))) >> (64 - bits)
}

func float(r source) float64 {
	special := []float64{0, math.Copysign(0, -1), 1, -1.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, math.SmallestNonzeroFloat32, math.Pi}
	if i := r.intn(2 * len(special)); i < len(special) {
		return special[i]
	}
	return float64(float32(r.intn(1<<30)) / float32(1+r.intn(1000)))
}

func moment(r source) time.Time {
	return time.Date(1+r.intn(5000), 1, 1+r.intn(366), r.intn(24), r.intn(60), r.intn(60), r.intn(1e6)*1000, time.UTC)
}

func infinite(r source) pgtype.InfinityModifier {
	return []pgtype.InfinityModifier{pgtype.Finite, pgtype.Finite, pgtype.Finite, pgtype.Infinity, pgtype.NegativeInfinity}[r.intn(5)]
}

func numeric(r source) pgtype.Numeric {
	switch r.intn(8) {
	case 0:
		return pgtype.Numeric{NaN: true, Valid: true}
	case 1:
		return pgtype.Numeric{InfinityModifier: pgtype.Infinity, Valid: true}
	case 2:
		return pgtype.Numeric{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	}
	return pgtype.Numeric{Int: big.NewInt(integer(r, 64)), Exp: int32(r.intn(40) - 20), Valid: true}
}

func bits(r source, n int) pgtype.Bits {
	b := pgtype.Bits{Len: int32(n), Bytes: make([]byte, (n+7)/8), Valid: true}
	for i := range n {
		if r.intn(2) == 1 {
			b.Bytes[i/8] |= 0x80 >> (i % 8)
		}
	}
	return b
}

func blob(r source) []byte {
	b := make([]byte, r.intn(20))
	for i := range b {
		b[i] = byte(r.intn(256))
	}
	return b
}

// long is a word, or sometimes a text just long enough not to be copied, or much longer.
func long(r source) string {
	w := r.word()
	if r.intn(16) > 0 {
		return w
	}
	n := 2040 + r.intn(16)
	if r.intn(16) == 0 {
		n = 30_000 + r.intn(60_000)
	}
	return strings.Repeat("x", n) + w
}

func vec(r source) pgtype.Vec2 {
	return pgtype.Vec2{X: float64(r.intn(1000)) / 7, Y: float64(r.intn(1000)) / 3}
}

func vecs(r source) []pgtype.Vec2 {
	p := make([]pgtype.Vec2, 1+r.intn(4))
	for i := range p {
		p[i] = vec(r)
	}
	return p
}

func document(r source) any {
	switch r.intn(7) {
	case 0:
		return map[string]any{strings.ToValidUTF8(r.word(), ""): r.intn(100), "list": []int{1, 2}}
	case 1:
		return `{"s" :  "x", "s2": [1, 2, null]}`
	case 2:
		return []byte(`[]`)
	case 3:
		return json.RawMessage(`{ "raw":  true }`)
	case 4:
		return struct{ A, B int }{r.intn(5), 2}
	case 5:
		return "null"
	}
	b, _ := json.Marshal(r.word())
	return string(b)
}

func span[T any](r source, value func(source) T, less func(a, b T) bool) pgtype.Range[T] {
	if r.intn(8) == 0 {
		return pgtype.Range[T]{LowerType: pgtype.Empty, UpperType: pgtype.Empty, Valid: true}
	}
	low, high := value(r), value(r)
	if less(high, low) {
		low, high = high, low
	}
	s := pgtype.Range[T]{Lower: low, Upper: high, LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true}
	if r.intn(6) == 0 {
		s.UpperType = pgtype.Unbounded
	}
	return s
}

func day(r source) pgtype.Date {
	return pgtype.Date{Time: moment(r).Truncate(24 * time.Hour), Valid: true}
}

// kinds are the scalar types of pgx's type map that a table can have, and some made of them. Not
// among them: record and unknown (no column type), oid8 (no such type before PostgreSQL 19).
var kinds = []kind{
	{"bool", func(r source) any { return r.intn(2) == 1 }},
	{"int2", func(r source) any { return int16(integer(r, 16)) }},
	{"int4", func(r source) any { return int32(integer(r, 32)) }},
	{"int8", func(r source) any { return integer(r, 64) }},
	{"float4", func(r source) any { return float32(float(r)) }},
	{"float8", func(r source) any { return float(r) }},
	{"numeric", func(r source) any { return numeric(r) }},
	{"text", func(r source) any { return r.word() }},
	{"varchar", func(r source) any { w := r.word(); return &w }},
	{"text", func(r source) any { return long(r) }},
	{"varchar", func(r source) any { w := long(r); return &w }},
	{"jsonb", func(r source) any { b, _ := json.Marshal(long(r)); return string(b) }},
	{"json", func(r source) any { b, _ := json.Marshal(long(r)); return json.RawMessage(b) }},
	{"bytea", func(r source) any { return []byte(long(r)) }},
	{"char(30)", func(r source) any { return fmt.Sprintf("%.6s", strings.ToValidUTF8(r.word(), "")) }},
	{"name", func(r source) any { return fmt.Sprintf("n%d", r.intn(1000)) }},
	{`"char"`, func(r source) any { return byte('a' + r.intn(26)) }},
	{"bytea", func(r source) any { return blob(r) }},
	{"json", document},
	{"jsonb", document},
	{"jsonpath", func(r source) any { return fmt.Sprintf(`$."a%d"`, r.intn(10)) }},
	{"xml", func(r source) any { return fmt.Sprintf("<a>%d</a>", r.intn(1000)) }},
	{"uuid", func(r source) any {
		var u [16]byte
		copy(u[:], blob(r))
		return u
	}},
	{"date", func(r source) any {
		d := day(r)
		if d.InfinityModifier = infinite(r); d.InfinityModifier != pgtype.Finite {
			d.Time = time.Time{}
		}
		return d
	}},
	{"time", func(r source) any { return pgtype.Time{Microseconds: int64(r.intn(86_400)) * 1e6, Valid: true} }},
	{"timestamp", func(r source) any {
		if m := infinite(r); m != pgtype.Finite {
			return pgtype.Timestamp{InfinityModifier: m, Valid: true}
		}
		return pgtype.Timestamp{Time: moment(r), Valid: true}
	}},
	{"timestamptz", func(r source) any {
		if m := infinite(r); m != pgtype.Finite {
			return pgtype.Timestamptz{InfinityModifier: m, Valid: true}
		}
		return moment(r)
	}},
	{"interval", func(r source) any {
		return pgtype.Interval{Months: int32(r.intn(50)), Days: int32(r.intn(99) - 50), Microseconds: integer(r, 40), Valid: true}
	}},
	{"inet", func(r source) any {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(r.intn(256)), 1, byte(r.intn(256))}), 8+r.intn(25))
	}},
	{"cidr", func(r source) any {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(r.intn(256)), 0, 0}), 16)
	}},
	{"macaddr", func(r source) any { return net.HardwareAddr{1, 2, 3, 4, byte(r.intn(256)), 6} }},
	{"bit(9)", func(r source) any { return bits(r, 9) }},
	{"varbit", func(r source) any { return bits(r, r.intn(40)) }},
	{"point", func(r source) any { return pgtype.Point{P: vec(r), Valid: true} }},
	{"line", func(r source) any { return pgtype.Line{A: 1, B: float64(r.intn(9)), C: 3, Valid: true} }},
	{"lseg", func(r source) any { return pgtype.Lseg{P: [2]pgtype.Vec2{vec(r), vec(r)}, Valid: true} }},
	{"box", func(r source) any {
		a, b := vec(r), vec(r)
		return pgtype.Box{P: [2]pgtype.Vec2{{X: max(a.X, b.X), Y: max(a.Y, b.Y)}, {X: min(a.X, b.X), Y: min(a.Y, b.Y)}}, Valid: true}
	}},
	{"path", func(r source) any { return pgtype.Path{P: vecs(r), Closed: r.intn(2) == 0, Valid: true} }},
	{"polygon", func(r source) any { return pgtype.Polygon{P: vecs(r), Valid: true} }},
	{"circle", func(r source) any { return pgtype.Circle{P: vec(r), R: float64(r.intn(9)), Valid: true} }},
	{"oid", func(r source) any { return uint32(r.intn(1 << 31)) }},
	{"xid", func(r source) any { return uint32(r.intn(1 << 31)) }},
	{"xid8", func(r source) any { return uint64(integer(r, 32) & math.MaxInt32) }},
	{"cid", func(r source) any { return uint32(r.intn(1 << 31)) }},
	{"tid", func(r source) any {
		return pgtype.TID{BlockNumber: uint32(r.intn(99)), OffsetNumber: uint16(r.intn(99)), Valid: true}
	}},
	{"aclitem", func(r source) any { return "=r/postgres" }},
	{"int4range", func(r source) any {
		return span(r, func(r source) int32 { return int32(r.intn(1000)) }, func(a, b int32) bool { return a < b })
	}},
	{"int8range", func(r source) any {
		return span(r, func(r source) int64 { return int64(r.intn(1000)) }, func(a, b int64) bool { return a < b })
	}},
	{"daterange", func(r source) any {
		return span(r, day, func(a, b pgtype.Date) bool { return a.Time.Before(b.Time) })
	}},
	{"tstzrange", func(r source) any {
		return span(r, moment, func(a, b time.Time) bool { return a.Before(b) })
	}},
	{"int4multirange", func(r source) any {
		return pgtype.Multirange[pgtype.Range[int32]]{span(r, func(r source) int32 { return int32(r.intn(1000)) }, func(a, b int32) bool { return a < b })}
	}},
	{"int4[]", func(r source) any {
		a := make([]*int32, r.intn(5))
		for i := range a {
			if v := int32(integer(r, 32)); r.intn(4) > 0 {
				a[i] = &v
			}
		}
		return a
	}},
	{"text[]", func(r source) any {
		a := make([]string, r.intn(5))
		for i := range a {
			a[i] = r.word()
		}
		return a
	}},
	{"int2[][]", func(r source) any {
		return [][]int16{{1, int16(r.intn(9))}, {3, 4}}
	}},
	{"jsonb[]", func(r source) any { return []string{`{"a": 1}`, "null"} }},
	{"mood", func(r source) any { return []string{"sad", "ok", "happy"}[r.intn(3)] }},
	{"mood[]", func(r source) any { return "{sad,ok}" }},
	{"citext", func(r source) any { return r.word() }},
	{"citext", func(r source) any { w := long(r); return &w }},
	{"score", func(r source) any { return int32(r.intn(100)) }},
	{"feeling", func(r source) any { return feeling([]string{"ok", "happy"}[r.intn(2)]) }},
	{"numeric", func(r source) any {
		return pgtype.Text{String: fmt.Sprintf("%d.%03d", r.intn(1e6), r.intn(1000)), Valid: true}
	}},
	{"tsvector", func(r source) any { return fmt.Sprintf("'a%d':1A 'b':2", r.intn(9)) }},
	{"int4", func(r source) any { return fmt.Sprint(integer(r, 32)) }}, // as text
	{"timestamptz", func(r source) any { return moment(r).Format("2006-01-02 15:04:05.999999Z07:00") }},
}

type feeling string

// user-defined types, which the type map does not know: an enum, citext, and domains.
const types = `select pg_advisory_xact_lock(1); create extension if not exists citext; do $$ begin create type mood as enum ('sad', 'ok', 'happy'); create domain score as int4 check (value between 0 and 100);
	create domain feeling as mood check (value <> 'sad'); exception when duplicate_object then end $$`

// compare writes the same rows with pgbulk and with pgx, one by one, and compares the tables.
func compare(t testing.TB, conn *pgx.Conn, use []kind, rows [][]any, o settings, inserts bool) {
	t.Helper()
	ctx := context.Background()
	var columns, definition, places []string
	for i, k := range use {
		columns = append(columns, fmt.Sprintf("c%d", i))
		definition = append(definition, fmt.Sprintf("c%d %s", i, k.sql))
		places = append(places, fmt.Sprintf("$%d", i+2))
	}
	run := func(sql string) {
		if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	// Names of their own, because pgx keeps what it learnt about a table.
	n := tables.Add(1)
	ours, theirs := fmt.Sprint("ours", n), fmt.Sprint("theirs", n)
	defer run("rollback; drop table if exists " + ours + ", " + theirs)
	for _, name := range []string{ours, theirs} {
		run("create table " + name + " (id int primary key, " + strings.Join(definition, ", ") + ")")
	}
	columns = append([]string{"id"}, columns...)
	table := pgbulk.Table{Name: pgx.Identifier{ours}, Columns: columns, Key: []string{"id"}}
	write := upsert
	if inserts {
		write = insert
	}
	if _, err := write(ctx, conn, table, pgbulk.Slice(rows), o); err != nil {
		t.Fatalf("%v", err)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatalf("%v", err)
	}
	sql := "insert into " + theirs + " values ($1, " + strings.Join(places, ", ") + ")"
	for i, row := range rows {
		if _, err := tx.Exec(ctx, sql, row...); err != nil {
			t.Fatalf("pgx, row %d: %v", i, err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatalf("%v", err)
	}
	same(t, conn, columns, ours, theirs)
}

// same compares two tables with an id, column by column.
func same(t testing.TB, conn *pgx.Conn, columns []string, ours, theirs string) {
	t.Helper()
	ctx := context.Background()
	// As text, because not every type can be compared.
	for _, c := range columns {
		var id *int
		var a, b *string
		err := conn.QueryRow(ctx, fmt.Sprintf(`select id, o.%[1]s::text, t.%[1]s::text from %[2]s o full join %[3]s t using (id)
			where o.%[1]s::text is distinct from t.%[1]s::text or o.id is null or t.id is null limit 1`, c, ours, theirs)).Scan(&id, &a, &b)
		if err == pgx.ErrNoRows {
			continue
		}
		text := func(s *string) string {
			if s == nil {
				return "NULL"
			}
			return *s
		}
		t.Fatalf("column %s: %v: pgbulk wrote %s, pgx %s", c, err, text(a), text(b))
	}
}

// tables counts the pairs of tables of this process.
var tables atomic.Int64

func (k kind) String() string { return k.sql }

// TestProperty writes tables of random types with pgbulk and with pgx, and expects them to be the
// same.
func TestProperty(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	must(t, conn, types)
	property(t, func(r source) {
		var use []kind
		for range 1 + r.size(5) {
			use = append(use, r.kind())
		}
		rows := make([][]any, r.size(30))
		for i := range rows {
			rows[i] = []any{i}
			for _, k := range use {
				rows[i] = append(rows[i], value(r, k))
			}
		}
		o := r.settings()
		compare(t, conn, use, rows, o, r.bool())
	})
}

// value is NULL now and then.
func value(r source, k kind) any {
	if r.intn(8) == 0 {
		return nil
	}
	return k.draw(r)
}

// valueOf is value for the i-th row. The first row has none that is NULL, as it decides how a text
// of the others is sent.
func valueOf(r source, k kind, i int) any {
	if i == 0 {
		return k.draw(r)
	}
	return value(r, k)
}
