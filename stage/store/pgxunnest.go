package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgxUnnest sends one array for each column, which the server turns into rows: five parameters,
// however many rows there are. Columns that are not slices are first copied into slices.
func pgxUnnest(op string) *contender {
	return &contender{
		name: "lib=pgx/call=unnest", module: pgxModule,
		pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			parameters := make([]string, len(t.types))
			for i, typ := range t.types {
				parameters[i] = fmt.Sprintf("$%d::%s[]", i+1, typ)
			}
			sql := t.write(op, "select * from unnest("+strings.Join(parameters, ", ")+")")
			return func(ctx context.Context) error {
				arrays := make([]any, len(t.types))
				for i := range arrays {
					arrays[i] = array(t.rows, i)
				}
				_, err := conn.Exec(ctx, sql, arrays...)
				return err
			}, nil
		},
	}
}

// array copies a column's values into a slice.
func array(rows [][]any, column int) any {
	switch rows[0][column].(type) {
	case int64:
		return collect[int64](rows, column)
	case time.Time:
		return collect[time.Time](rows, column)
	case pgtype.UUID:
		return collect[pgtype.UUID](rows, column)
	case pgtype.Numeric:
		return collect[pgtype.Numeric](rows, column)
	}
	return collect[string](rows, column)
}

func collect[T any](rows [][]any, column int) []T {
	list := make([]T, len(rows))
	for i, row := range rows {
		list[i] = row[column].(T)
	}
	return list
}
