package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
)

// pgxParallel is pgx's Exec over n connections concurrently, each with its part of the rows in a
// transaction of its own.
func pgxParallel(name string, n int, set ...setUp) *contender {
	return &contender{
		name: name, module: pgxModule, settings: map[string]string{"transactions": fmt.Sprint(n)},
		open: func(ctx context.Context, t *target) (*writer, error) {
			conns, err := connectSeveral(ctx, t, n, set...)
			if err != nil {
				return nil, err
			}
			var parts [][]statement
			for rows := range slices.Chunk(t.rows, (len(t.rows)+n-1)/n) {
				parts = append(parts, statements(t.table, rows))
			}
			return pgxWriter(func(ctx context.Context) error {
				return together(len(parts), func(i int) error { return execAll(ctx, conns[i], parts[i], byPgx) })
			}, conns...), nil
		},
	}
}

func connectSeveral(ctx context.Context, t *target, n int, set ...setUp) (conns []*pgx.Conn, err error) {
	for range n {
		conn, err := pgxConnect(ctx, t, cached, set...)
		if err != nil {
			for _, c := range conns {
				_ = closing(c, nil)
			}
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// together does n things concurrently. If there is only one, it does it directly.
func together(n int, do func(i int) error) error {
	if n == 1 {
		return do(0)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
