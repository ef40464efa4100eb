package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxUnnest sends an array a column, which the server turns into rows: five parameters,
// however many rows. Columns that are not made of slices already are copied into some first.
func pgxUnnest() *contender {
	return &contender{
		name: "lib=pgx/call=unnest", module: pgxModule,
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, pgx.QueryExecModeCacheStatement)
			if err != nil {
				return nil, err
			}
			sql := "insert into " + t.table + " (" + quoted() + ") select * from unnest($1::varchar[], $2::varchar[], $3::varchar[], $4::varchar[], $5::" + t.column + "[])" + onConflict
			return pgxWriter(conn, func(ctx context.Context) error {
				arrays := make([][]string, len(columns))
				for i := range arrays {
					arrays[i] = make([]string, len(t.rows))
					for n, row := range t.rows {
						arrays[i][n] = row[i].(string)
					}
				}
				_, err := conn.Exec(ctx, sql, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4])
				return err
			}), nil
		},
	}
}
