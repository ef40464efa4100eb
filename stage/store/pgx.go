package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const pgxModule = "github.com/jackc/pgx/v5"

// pgxExec is what most services do: one statement with all values, by pgx's Exec. Rows that
// have too many values for one statement are several in a transaction. set is done to the connection beforehand.
func pgxExec(name string, mode pgx.QueryExecMode, set ...func(context.Context, *pgx.Conn) error) *contender {
	return &contender{
		name: name, module: pgxModule, settings: map[string]string{"mode": mode.String()},
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, mode, set...)
			if err != nil {
				return nil, err
			}
			list := statements(t.table, t.rows)
			return pgxWriter(func(ctx context.Context) error { return pgxExecAll(ctx, conn, list) }, conn), nil
		},
	}
}

// pgxExecAll runs the statements, in a transaction if there are several.
func pgxExecAll(ctx context.Context, conn *pgx.Conn, list []statement) error {
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
}

func pgxConnect(ctx context.Context, t *target, mode pgx.QueryExecMode, set ...func(context.Context, *pgx.Conn) error) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(t.dsn)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = mode
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	for _, s := range set {
		if err := s(ctx, conn); err != nil {
			return nil, closing(conn, err)
		}
	}
	return conn, nil
}

func pgxWriter(write func(context.Context) error, conns ...*pgx.Conn) *writer {
	w := &writer{
		write: func() error { return write(context.Background()) },
		close: func() (err error) {
			for _, conn := range conns {
				err = errors.Join(err, conn.Close(context.Background()))
			}
			return err
		},
	}
	for _, conn := range conns {
		w.backends = append(w.backends, int(conn.PgConn().PID()))
	}
	return w
}
