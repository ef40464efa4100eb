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
	return bulkWith("lib=pgbulk/call="+call+"/strategy="+strategyName(strategy), call, bulkCall(call, strategy, false))
}

func strategyName(s pgbulk.Strategy) string {
	if s == pgbulk.Auto {
		return "auto"
	}
	return string(s)
}

// bulkWrite is a call of pgbulk.
type bulkWrite func(context.Context, pgbulk.DB, pgbulk.Table, pgbulk.Source) error

func bulkCall(call string, strategy pgbulk.Strategy, skipUnchanged bool) bulkWrite {
	return func(ctx context.Context, on pgbulk.DB, t pgbulk.Table, rows pgbulk.Source) (err error) {
		if call == "insert" {
			_, err = pgbulk.Insert(ctx, on, t, rows, pgbulk.InsertOptions{Strategy: strategy})
		} else {
			_, err = pgbulk.Upsert(ctx, on, t, rows, pgbulk.UpsertOptions{Strategy: strategy, SkipUnchanged: skipUnchanged})
		}
		return err
	}
}

// bulkWith is bulkRows with the settings that the name says.
func bulkWith(name, call string, write bulkWrite, set ...setUp) *contender {
	return &contender{
		name: name, insertsOnly: call == "insert",
		open: onPgx(cached, func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			return func(ctx context.Context) error { return write(ctx, conn, bulkTable(t), pgbulk.Slice(t.rows)) }, nil
		}, set...),
	}
}

func bulkTable(t *target) pgbulk.Table {
	return pgbulk.Table{Name: pgx.Identifier{t.table}, Columns: columns, Key: columns[:1]}
}
