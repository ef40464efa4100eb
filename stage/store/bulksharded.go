package store

import (
	"context"
	"fmt"
	"slices"

	"postage/pgbulk"
)

// bulkSharded is bulkWith over n connections concurrently, each with its part of the rows in a
// transaction of its own.
func bulkSharded(name, call string, n int, set ...setUp) *contender {
	write := bulkCall(call, pgbulk.Auto, false)
	return &contender{
		name: name, insertsOnly: call == "insert", settings: map[string]string{"transactions": fmt.Sprint(n)},
		open: func(ctx context.Context, t *target) (*writer, error) {
			conns, err := connectSeveral(ctx, t, n, set...)
			if err != nil {
				return nil, err
			}
			parts := slices.Collect(slices.Chunk(t.rows, (len(t.rows)+n-1)/n))
			return pgxWriter(func(ctx context.Context) error {
				return together(len(parts), func(i int) error { return write(ctx, conns[i], bulkTable(t), pgbulk.Slice(parts[i])) })
			}, conns...), nil
		},
	}
}
