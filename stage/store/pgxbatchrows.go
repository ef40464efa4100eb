package store

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// pgxBatchRows sends statements of 100 rows, pipelined, in the transaction of a batch.
func pgxBatchRows() *contender {
	const most = 100
	return &contender{
		name: "lib=pgx/call=sendbatch/statement=100rows", module: pgxModule,
		pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) error {
			var batch pgx.Batch
			sql := statements(t.table, t.rows[:min(most, len(t.rows))])[0].sql
			for rows := range slices.Chunk(t.rows, most) {
				if len(rows) < most {
					sql = statements(t.table, rows)[0].sql
				}
				args := make([]any, 0, len(rows)*len(columns))
				for _, row := range rows {
					args = append(args, row...)
				}
				batch.Queue(sql, args...)
			}
			return conn.SendBatch(ctx, &batch).Close()
		}),
	}
}
