package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxCopy sends the rows by COPY directly into the table, which fails if a row exists.
func pgxCopy() *contender {
	return &contender{
		name: "lib=pgx/call=copyfrom", module: pgxModule, insertsOnly: true,
		pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) error {
			_, err := conn.CopyFrom(ctx, pgx.Identifier{t.table}, columns, pgx.CopyFromRows(t.rows))
			return err
		}),
	}
}

// pgxCopyTemporary sends the rows by COPY into a temporary table, and lets the server insert them
// from there.
func pgxCopyTemporary() *contender {
	return &contender{
		name: "lib=pgx/call=copy-temporary", module: pgxModule,
		settings: map[string]string{"temporary table": "including storage including compression"},
		pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) error {
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "create temporary table stage (like "+t.table+" including storage including compression) on commit drop"); err != nil {
					return err
				}
				if _, err := tx.CopyFrom(ctx, pgx.Identifier{"stage"}, columns, pgx.CopyFromRows(t.rows)); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, "insert into "+t.table+" select * from stage where true"+updating(columns))
				return err
			})
		}),
	}
}
