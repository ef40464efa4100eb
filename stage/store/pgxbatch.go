package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxBatch sends a statement a row, pipelined, in the transaction that a batch is.
func pgxBatch() *contender {
	return &contender{
		name: "lib=pgx/call=sendbatch", module: pgxModule,
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, pgx.QueryExecModeCacheStatement)
			if err != nil {
				return nil, err
			}
			sql := statements(t.table, t.rows[:1])[0].sql
			return pgxWriter(func(ctx context.Context) error {
				var batch pgx.Batch
				for _, row := range t.rows {
					batch.Queue(sql, row...)
				}
				return conn.SendBatch(ctx, &batch).Close()
			}, conn), nil
		},
	}
}
