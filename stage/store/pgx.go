package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const pgxModule = "github.com/jackc/pgx/v5"

// pgxExec is what most services do: one statement with all values, by pgx's Exec. Rows that
// have too many values for one statement are several in a transaction.
func pgxExec(name string, mode pgx.QueryExecMode) *contender {
	return &contender{
		name: name, module: pgxModule, settings: map[string]string{"mode": mode.String()},
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, mode)
			if err != nil {
				return nil, err
			}
			list := statements(t.table, t.rows)
			return pgxWriter(conn, func(ctx context.Context) error {
				if len(list) == 1 {
					_, err := conn.Exec(ctx, list[0].sql, list[0].args...)
					return err
				}
				return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					for _, s := range list {
						if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
							return err
						}
					}
					return nil
				})
			}), nil
		},
	}
}

func pgxConnect(ctx context.Context, t *target, mode pgx.QueryExecMode) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(t.dsn)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = mode
	return pgx.ConnectConfig(ctx, config)
}

func pgxWriter(conn *pgx.Conn, write func(context.Context) error) *writer {
	return &writer{
		write:   func() error { return write(context.Background()) },
		backend: int(conn.PgConn().PID()),
		close:   func() error { return conn.Close(context.Background()) },
	}
}
