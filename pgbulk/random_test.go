package pgbulk_test

import (
	"math/rand/v2"
	"testing"

	"postage/pgbulk"
)

// TestRandomRows is the same for many rows of a table with every type: 500, or 100,000 if
// POSTAGE_LONG is set.
func TestRandomRows(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	must(t, conn, types)
	n := short(200, 100_000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := newSource(seed)
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = make([]any, 0, len(kinds)+1)
		rows[i] = append(rows[i], i)
		for _, k := range kinds {
			rows[i] = append(rows[i], value(r, k))
		}
	}
	for _, s := range strategies {
		t.Run(name(s), func(t *testing.T) {
			from, to := 0, n
			if n >= 100_000 && s != pgbulk.Auto { // the whole of it once
				to = n / 10
			}
			compare(t, conn, kinds, rows[from:to], settings{Strategy: s}, false)
		})
	}
}
