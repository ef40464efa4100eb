package store

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk"
	"postage/record"
)

// bulkExec sends the one statement, with its parameters streamed.
func bulkExec() *contender { return exec("lib=pgbulk/call=exec", "", byBulk) }

func byBulk(ctx context.Context, on db, s statement) error {
	_, err := pgbulk.Exec(ctx, on, s.sql, s.args...)
	return err
}

// bulk gives pgbulk the rows, in the way that its name says: to be upserted, to be updated, or to
// be inserted if none of them exist.
func bulk(way string) *contender {
	name := "lib=pgbulk/call=" + way
	keys := record.KeysOf(name)
	insert := strings.HasPrefix(keys.Get("call"), "insert")
	update := keys.Get("call") == "update"
	strategy := pgbulk.Strategy(keys.Get("strategy"))
	if strategy == "auto" {
		strategy = pgbulk.Auto
	}
	return &contender{
		name: name, insertsOnly: insert,
		pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) (err error) {
			switch {
			case insert:
				_, err = pgbulk.Insert(ctx, conn, bulkTable(t), pgbulk.Slice(t.rows), pgbulk.InsertOptions{Strategy: strategy})
			case update:
				_, err = pgbulk.Update(ctx, conn, bulkTable(t), pgbulk.Slice(t.rows), pgbulk.UpdateOptions{Strategy: strategy})
			default:
				_, err = pgbulk.Upsert(ctx, conn, bulkTable(t), pgbulk.Slice(t.rows), pgbulk.UpsertOptions{Strategy: strategy})
			}
			return err
		}),
	}
}

func bulkTable(t *target) pgbulk.Table {
	return pgbulk.Table{Name: pgx.Identifier{t.table}, Columns: columnsOf(len(t.types)), Key: columns[:1]}
}
