package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxBatch sends one statement for each row, pipelined, in the transaction of a batch.
func pgxBatch(op string) *contender {
	return &contender{
		name: "lib=pgx/call=sendbatch", module: pgxModule,
		pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			sql := t.write(op, "values "+t.placeholders(op, 1))
			return func(ctx context.Context) error {
				var batch pgx.Batch
				for _, row := range t.rows {
					batch.Queue(sql, row...)
				}
				return conn.SendBatch(ctx, &batch).Close()
			}, nil
		},
	}
}
