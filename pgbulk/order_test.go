package pgbulk_test

import (
	"fmt"
	"strings"
	"testing"

	"postage/pgbulk"
)

// TestKeyOrder has a trigger record the order in which rows are locked: by key, whatever the
// source's order, if one statement has them all. Calls that lock in the same order do not deadlock.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, c := range []struct {
		what, columns string
		key           func(i int) any
		sorted        bool
	}{
		{"int", "k int", func(i int) any { return (i*37)%1000 - 500 }, true},
		{"text", `k text collate "C"`, func(i int) any { return fmt.Sprintf("%c%d", "aBc"[i%3], (i*37)%1000) }, true},
		{"text that the server reads", "k interval", func(i int) any { return fmt.Sprintf("%d hours", (i*37)%1000) }, true},
		{"a sequence", "k int, s serial", func(i int) any { return (i * 37) % 1000 }, false}, // but by Copy
	} {
		n := short(300, 900)
		for _, s := range strategies {
			table := pgbulk.Table{Name: newTable(t, conn, c.columns+", a text, primary key (k)"), Columns: []string{"k", "a"}, Key: []string{"k"}}
			log := table.Name[0] + "_log"
			must(t, conn, strings.NewReplacer("T", table.Name.Sanitize(), "L", log).Replace(`create table L (n serial, k text);
					create function L_fn() returns trigger language plpgsql as $$ begin insert into L (k) values (new.k::text); return new; end $$;
					create trigger l before update on T for each row execute function L_fn()`))
			rows := pgbulk.Values(seq(n, func(i int) []any { return []any{c.key(i), "x"} }))
			for range 2 {
				if _, err := upsert(t.Context(), conn, table, rows, settings{Strategy: s}); err != nil {
					t.Fatal(err)
				}
			}
			sorted := get[bool](t, conn, fmt.Sprintf("select bool_and(coalesce(before, after) <= after) from (select lag(t.k) over (order by l.n) as before, t.k as after from %s l join %s t on t.k::text = l.k) as x",
				log, table.Name.Sanitize()))
			if got := get[int](t, conn, "select count(*) from "+log); got != n || sorted != (c.sorted || s == pgbulk.Copy) {
				t.Errorf("%s, %s: %d updates, sorted by key: %v", c.what, name(s), got, sorted)
			}
			must(t, conn, "drop function "+log+"_fn cascade; drop table "+log)
		}
	}
}
