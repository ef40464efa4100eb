package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
)

// bulkSharded lets pgbulk distribute the rows by key over n connections of a pool. Each connection
// commits by itself.
func bulkSharded(name, call string, n int, o pgbulk.Options) *contender {
	write := pgbulk.UpsertSharded
	if call == "insert" {
		write = pgbulk.InsertSharded
	}
	return &contender{
		name: name, insertsOnly: call == "insert", settings: map[string]string{"transactions": fmt.Sprint(n)},
		open: func(ctx context.Context, t *target) (*writer, error) {
			config, err := pgxpool.ParseConfig(t.dsn)
			if err != nil {
				return nil, err
			}
			config.MaxConns, config.MaxConnIdleTime, config.MaxConnLifetime = int32(n), 1<<60, 1<<60 // so that the backends stay the same
			pool, err := pgxpool.NewWithConfig(ctx, config)
			if err != nil {
				return nil, err
			}
			w := &writer{
				close: func() error { pool.Close(); return nil },
				write: func() error {
					_, err := write(context.Background(), pool, n, bulkTable(t), pgbulk.Slice(t.rows), o)
					return err
				},
			}
			var conns []*pgxpool.Conn
			for range n {
				conn, acquireErr := pool.Acquire(ctx)
				if err = errors.Join(err, acquireErr); acquireErr == nil {
					conns = append(conns, conn)
					w.backends = append(w.backends, int(conn.Conn().PgConn().PID()))
				}
			}
			for conn := range slices.Values(conns) {
				conn.Release()
			}
			if err != nil {
				return nil, errors.Join(err, w.close())
			}
			return w, nil
		},
	}
}
