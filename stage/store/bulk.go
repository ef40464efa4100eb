package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// bulkExec is the one statement, its parameters streamed.
func bulkExec() *contender {
	return &contender{
		name: "lib=pgbulk/call=exec",
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, pgx.QueryExecModeCacheStatement)
			if err != nil {
				return nil, err
			}
			list := statements(t.table, t.rows)
			return pgxWriter(conn, func(ctx context.Context) error {
				if len(list) == 1 {
					_, err := pgbulk.Exec(ctx, conn, list[0].sql, list[0].args...)
					return err
				}
				return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					for _, s := range list {
						if _, err := pgbulk.Exec(ctx, tx, s.sql, s.args...); err != nil {
							return err
						}
					}
					return nil
				})
			}), nil
		},
	}
}

// bulkRows hands pgbulk the rows, to be upserted, or inserted where none of them exist.
func bulkRows(call string, strategy pgbulk.Strategy) *contender {
	write, named := pgbulk.Upsert, string(strategy)
	if call == "insert" {
		write = pgbulk.Insert
	}
	if strategy == pgbulk.Auto {
		named = "auto"
	}
	return &contender{
		name: "lib=pgbulk/call=" + call + "/strategy=" + named, insertsOnly: call == "insert",
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, pgx.QueryExecModeCacheStatement)
			if err != nil {
				return nil, err
			}
			table := pgbulk.Table{Name: pgx.Identifier{t.table}, Columns: columns, Key: columns[:1]}
			return pgxWriter(conn, func(ctx context.Context) error {
				_, err := write(ctx, conn, table, pgbulk.Slice(t.rows), pgbulk.Options{Strategy: strategy})
				return err
			}), nil
		},
	}
}
