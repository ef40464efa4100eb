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
			return pgxWriter(func(ctx context.Context) error {
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
			}, conn), nil
		},
	}
}

// bulkRows hands pgbulk the rows, to be upserted, or inserted where none of them exist.
func bulkRows(call string, strategy pgbulk.Strategy) *contender {
	return bulkWith("lib=pgbulk/call="+call+"/strategy="+strategyName(strategy), call, pgbulk.Options{Strategy: strategy})
}

func strategyName(s pgbulk.Strategy) string {
	if s == pgbulk.Auto {
		return "auto"
	}
	return string(s)
}

// bulkWith is bulkRows with settings that the name says.
func bulkWith(name, call string, o pgbulk.Options) *contender {
	write := pgbulk.Upsert
	if call == "insert" {
		write = pgbulk.Insert
	}
	return &contender{
		name: name, insertsOnly: call == "insert",
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, pgx.QueryExecModeCacheStatement)
			if err != nil {
				return nil, err
			}
			return pgxWriter(func(ctx context.Context) error {
				_, err := write(ctx, conn, bulkTable(t), pgbulk.Slice(t.rows), o)
				return err
			}, conn), nil
		},
	}
}

func bulkTable(t *target) pgbulk.Table {
	return pgbulk.Table{Name: pgx.Identifier{t.table}, Columns: columns, Key: columns[:1]}
}
