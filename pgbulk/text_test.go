package pgbulk_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// texts are, for each type, a value that is not text, and texts, some of which pgx's scanners read
// differently from the server.
var texts = []struct {
	sql   string
	value any
	texts []string
}{
	{"varbit", nil, []string{"101", "X1F", "B101", "x1f", "b1", "", "102"}},
	{"bit(3)", nil, []string{"101", "1011", "X1", "B101"}},
	{"time", nil, []string{"10:00:00", "10:99:99", "24:00:00", "23:59:60", "10:00", "10:00:00.1234567", "1:2:3", "25:00:00", "10:00:00,5"}},
	{"bool", true, []string{"t", "true", "", " ", "  t", "yes", "no", "2", "on", "T", "f ", "tr"}},
	{"int2", int16(1), []string{"1", "-1", "+1", " 1", "1 ", "40000", "0x10", "1_0", "", "007", "--1", "1.0"}},
	{"int4", int32(1), []string{"1", "-2147483648", "2147483648", "0b1", "1e3", "99999999999999999999", "-"}},
	{"int8", int64(1), []string{"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-0"}},
	{"oid", uint32(1), []string{"1", "-1", "4294967295", "4294967296"}},
	{"float4", float32(1), []string{"1", "1.5", "-1.23456789", "1e10", "1e-50", "1e50", "0x1p3", "nan", "inf", "-Infinity", "1_000", ".5", "5.", "16777217", "0.1"}},
	{"float8", 1.0, []string{"1", "1.5", "0.1", "1e-400", "1e400", "0x1p3", "NaN", "123456789.123456789", " 1 "}},
	{"numeric", nil, []string{"1", "1.50", "-0.00", "00012.300", "1e10", "NaN", "Infinity", "1_0", "12345678901234567890.123456789000", ".5", ""}},
	{"numeric(5,2)", nil, []string{"1.005", "999.999", "12.3"}},
	{"uuid", nil, []string{"00000000-0000-0000-0000-000000000001", "{00000000-0000-0000-0000-000000000001}", "00000000000000000000000000000001",
		"0000000000000000-0000-000000000001", "00000000-0000-0000-0000-00000000000g", "A0000000-0000-0000-0000-00000000000F", "00000000+0000+0000+0000+000000000001"}},
	{"bytea", nil, []string{`\x00ff`, `\x0`, "abc", `\001`, `\xGG`, `\x 00`, ""}},
	{"date", nil, []string{"2026-01-02", "2026-02-30", "2026-1-2", "0000-01-01", "infinity", "today", "10000-01-01", "2026-01-02 BC", "01/02/2026"}},
	{"timestamp", nil, []string{"2026-01-02 03:04:05", "2026-01-02 03:04:05.123456", "2026-01-02 03:04:05.1234567", "2026-01-02 24:00:00", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z",
		"2026-02-30 00:00:00", "0000-01-01 00:00:00", "2026-01-02 03:04:60", "2026-01-02 03:04:05,5"}},
	{"timestamptz", nil, []string{"2026-01-02 03:04:05Z", "2026-01-02 03:04:05", "2026-01-02 03:04:05+02", "2026-01-02 03:04:05+02:00", "2026-01-02 03:04:05.5-23:59", "2026-01-02T03:04:05Z",
		"0000-01-01 00:00:00Z", "2026-01-02 03:04:05+99:00", "epoch"}},
	{"interval", nil, []string{"1 day", "1 mon 2 days 03:04:05", "P1D", "1:2", "99:99:99", "1 year 1.5 days"}},
	{"inet", nil, []string{"10.0.0.1", "10.0.0.0/8", "10.1", "::1", "10.0.0.1/33", " 10.0.0.1"}},
	{"cidr", nil, []string{"10.0.0.0/8", "10.0.0.1/8", "10"}},
	{"macaddr", nil, []string{"01:02:03:04:05:06", "010203040506", "01:02:03:04:05:06:07:08", "0102.0304.0506"}},
	{"int4[]", nil, []string{"{1,2}", "{ 1 , NULL }", "{1,}", "[0:1]={1,2}", "{{1,2},{3,4}}", "{1,2", "{1,a}"}},
	{"text[]", nil, []string{`{a,"b c"}`, `{a b}`, `{"a}`, `{NULL,"NULL"}`, `{a\,b}`}},
	{"point", nil, []string{"(1,2)", "1,2", "( 1 , 2 )", "(1,2", "(1,2,3)"}},
	{"box", nil, []string{"(2,2),(1,1)", "(1,1),(2,2)", "1,1,2,2"}},
	{"path", nil, []string{"[(1,1)]", "((1,1),(2,2))", "1,1"}},
	{"circle", nil, []string{"<(1,1),2>", "((1,1),2)", "1,1,-2"}},
	{"int4range", nil, []string{"[1,2]", "(1,5)", "empty", "[2,1]", "[1,)", "[ 1 , 2 )"}},
	{"tid", nil, []string{"(1,2)", "(-1,2)", "(1,99999)"}},
	{"xid", nil, []string{"1", "-1", "0x10"}},
	{"xml", nil, []string{"<a/>", "<a>"}},
	{"jsonb", nil, []string{"1", " 1", "{", "nul"}},
	{`"char"`, nil, []string{"a", "ab", `\101`, ""}},
	{"mood", nil, []string{"sad", "Sad", " sad"}},
	{"citext", nil, []string{"A", "a"}},
	{"score", nil, []string{"1", "101", " 1"}},
	{"feeling", nil, []string{"ok", "sad", "none"}},
}

// TestTexts writes each text as the first of a column, which must come out as when plain SQL reads
// it, and again after a value that is not text, when it may also be refused. So are random
// mutations of these texts. Each text takes two of the strategies, and with POSTAGE_LONG all, and
// plain inserts.
func TestTexts(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	must(t, conn, types)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	n := short(1, 50)
	writes := []struct {
		what string
		call callFunc
	}{{"upsert", upsert}, {"insert", insert}}
	for _, c := range texts {
		table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a "+c.sql), Columns: []string{"id", "a"}, Key: []string{"id"}}
		plain := "insert into " + table.Name.Sanitize() + " values (2, '%s')"
		all := c.texts
		for range n {
			all = append(all, mutate(r, c.texts[r.IntN(len(c.texts))]))
		}
		for i, text := range all {
			stored := func(err error) string {
				usable(t, conn)
				defer must(t, conn, "delete from "+table.Name.Sanitize())
				if err != nil {
					return "refused"
				}
				return get[string](t, conn, "select coalesce(a::text, 'NULL') from "+table.Name.Sanitize()+" where id = 2")
			}
			_, err := conn.Exec(t.Context(), fmt.Sprintf(plain, strings.ReplaceAll(text, "'", "''")), pgx.QueryExecModeSimpleProtocol)
			want := stored(err)
			for j, s := range strategies {
				if !longRun() && (uint64(i+j)+seed)%2 == 0 {
					continue
				}
				for _, write := range writes[:short(1, 2)] {
					_, err := write.call(t.Context(), conn, table, pgbulk.Slice([][]any{{2, text}}), settings{Strategy: s})
					if got := stored(err); got != want {
						t.Errorf("%s %s %q, %s: %q, want %q: %v", write.what, c.sql, text, name(s), got, want, err)
					}
					_, err = write.call(t.Context(), conn, table, pgbulk.Slice([][]any{{1, c.value}, {2, text}}), settings{Strategy: s})
					if got := stored(err); got != want && got != "refused" {
						t.Errorf("%s %s %q after %v, %s: %q, want %q", write.what, c.sql, text, c.value, name(s), got, want)
					}
				}
			}
		}
	}
}

// mutate changes a text at one or two places.
func mutate(r *rand.Rand, text string) string {
	const letters = "0123456789.,:-+ eExXTZtf{}()[]\"\\/"
	b := []byte(text)
	for range 1 + r.IntN(2) {
		at := r.IntN(len(b) + 1)
		l := letters[r.IntN(len(letters))]
		switch {
		case at < len(b) && r.IntN(3) == 0:
			b[at] = l
		case at < len(b) && r.IntN(2) == 0:
			b = append(b[:at], b[at+1:]...)
		default:
			b = append(b[:at], append([]byte{l}, b[at:]...)...)
		}
	}
	return string(b)
}

// TestTextAfterNulls has a column whose first value, a text that only the server can read, comes
// after many NULLs, or never.
func TestTextAfterNulls(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, nulls := range []int{1, 100, 3000, 5000} {
		for _, s := range strategies {
			for _, call := range []callFunc{insert, upsert} {
				table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a interval, b text"), Columns: []string{"id", "a", "b"}, Key: []string{"id"}}
				rows := pgbulk.Values(seq(4000, func(i int) []any {
					if i < nulls {
						return []any{i, nil, nil}
					}
					return []any{i, fmt.Sprintf("%d hours", i), nil}
				}))
				o := settings{Strategy: s, ChunkRows: 500} // so that statements are under way
				_, err := call(t.Context(), conn, table, rows, o)
				if err != nil {
					t.Errorf("%d NULLs, %s: %v", nulls, name(s), err)
					continue
				}
				if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()); n != 4000 {
					t.Errorf("%d NULLs, %s: %d rows, want 4000", nulls, name(s), n)
				}
				if n := get[int](t, conn, "select count(*) from "+table.Name.Sanitize()+" where a = id * interval '1 hour'"); n != max(0, 4000-nulls) {
					t.Errorf("%d NULLs, %s: %d intervals", nulls, name(s), n)
				}
			}
		}
	}
}

// TestStringsForAnything has strings that only the server can read.
func TestStringsForAnything(t *testing.T) {
	conn := connect(t)
	const columns = "id int primary key, at timestamptz, n int, b bytea, i interval, l int[]"
	rows := [][]any{
		{"1", "2026-01-02T03:04:05Z", " 12 ", "abc", "1 day 2 hours", "{1,2}"},
		{"2", "epoch", "7", `\x0001`, "3 weeks", nil},
		{3, nil, 8, []byte{0, 1, 2}, nil, []int{5}},
	}
	want := newTable(t, conn, columns)
	for _, r := range rows {
		must(t, conn, "insert into "+want.Sanitize()+" values ($1, $2, $3, $4, $5, $6)", r...)
	}
	for _, s := range strategies {
		for _, write := range []func(context.Context, pgbulk.DB, pgbulk.Table, pgbulk.Source, settings) (pgbulk.Result, error){upsert, insert} {
			table := pgbulk.Table{Name: newTable(t, conn, columns), Columns: []string{"id", "at", "n", "b", "i", "l"}, Key: []string{"id"}}
			if _, err := write(t.Context(), conn, table, pgbulk.Slice(rows), settings{Strategy: s}); err != nil {
				t.Errorf("%s: %v", name(s), err)
				continue
			}
			if got, want := digest(t, conn, table.Name), digest(t, conn, want); got != want {
				t.Errorf("%s: table %s, want %s", name(s), got, want)
			}
		}
	}
}
