package pgbulk_test

import (
	"testing"

	"postage/pgbulk"
)

// TestManyCallsInTransaction counts what many calls in one transaction leave with the server:
// locks, for which it has a table, and subtransactions: it caches 64.
func TestManyCallsInTransaction(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, s := range strategies {
		table := pgbulk.Table{Name: newTable(t, conn, "id int primary key, a text"), Columns: []string{"id", "a"}, Key: []string{"id"}}
		rows := pgbulk.Slice([][]any{{1, "x"}, {2, "y"}})
		must(t, conn, "begin")
		count := func(calls int) int {
			for range calls {
				if _, err := upsert(t.Context(), conn, table, rows, settings{Strategy: s}); err != nil {
					t.Fatal(err)
				}
			}
			return get[int](t, conn, "select count(*) from pg_locks where pid = pg_backend_pid() and not fastpath")
		}
		first := count(5)
		if later := count(short(50, 200)); later > first+5 {
			t.Errorf("%s: %d locks after 5 calls, %d later", name(s), first, later)
		}
		must(t, conn, "rollback")
	}
}
