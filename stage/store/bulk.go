package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
)

// bulkExec sends the one statement, with its parameters streamed.
func bulkExec() *contender {
	return &contender{
		name: "lib=pgbulk/call=exec",
		open: onPgx(cached, func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			list := statements(t.table, t.rows)
			return func(ctx context.Context) error { return execAll(ctx, conn, list, byBulk) }, nil
		}),
	}
}

func byBulk(ctx context.Context, on db, s statement) error {
	_, err := pgbulk.Exec(ctx, on, s.sql, s.args...)
	return err
}

// bulkRows gives pgbulk the rows, to be upserted, or to be inserted if none of them exist.
func bulkRows(call string, strategy pgbulk.Strategy) *contender {
	return bulkWith("lib=pgbulk/call="+call+"/strategy="+strategyName(strategy), call, pgbulk.Options{Strategy: strategy})
}

func strategyName(s pgbulk.Strategy) string {
	if s == pgbulk.Auto {
		return "auto"
	}
	return string(s)
}

// bulkWith is bulkRows with the settings that the name says.
func bulkWith(name, call string, o pgbulk.Options) *contender {
	write := pgbulk.Upsert
	if call == "insert" {
		write = pgbulk.Insert
	}
	return &contender{
		name: name, insertsOnly: call == "insert",
		open: onPgx(cached, func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			return func(ctx context.Context) error {
				_, err := write(ctx, conn, bulkTable(t), pgbulk.Slice(t.rows), o)
				return err
			}, nil
		}),
	}
}

func bulkTable(t *target) pgbulk.Table {
	return pgbulk.Table{Name: pgx.Identifier{t.table}, Columns: columns, Key: columns[:1]}
}
