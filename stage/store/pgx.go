package store

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
)

const pgxModule = "github.com/jackc/pgx/v5"

// setUp is done to a connection before anything is timed.
type setUp func(context.Context, *pgx.Conn) error

// pgxExec is what most services do: pgx's Exec of one statement with all values. Rows with too many
// values for one statement take several in one transaction.
func pgxExec(name string, mode pgx.QueryExecMode, set ...setUp) *contender {
	return &contender{
		name: name, module: pgxModule, settings: map[string]string{"mode": mode.String()},
		open: onPgx(mode, func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			list := statements(t.table, t.rows)
			return func(ctx context.Context) error { return execAll(ctx, conn, list, byPgx) }, nil
		}, set...),
	}
}

// cached is the mode of pgx's connections, unless a contender's name says another.
const cached = pgx.QueryExecModeCacheStatement

// onPgx opens a contender with one pgx connection. begin does what comes before the first write,
// and returns the function that writes the rows.
func onPgx(mode pgx.QueryExecMode, begin func(context.Context, *pgx.Conn, *target) (func(context.Context) error, error), set ...setUp) func(context.Context, *target) (*writer, error) {
	return func(ctx context.Context, t *target) (*writer, error) {
		conn, err := pgxConnect(ctx, t, mode, set...)
		if err != nil {
			return nil, err
		}
		write, err := begin(ctx, conn, t)
		if err != nil {
			return nil, closing(conn, err)
		}
		return pgxWriter(write, conn), nil
	}
}

// db is a connection or a transaction.
type db interface {
	pgbulk.DB
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func byPgx(ctx context.Context, on db, s statement) error {
	_, err := on.Exec(ctx, s.sql, s.args...)
	return err
}

// execAll runs the statements, in a transaction if there are several.
func execAll(ctx context.Context, conn *pgx.Conn, list []statement, by func(context.Context, db, statement) error) error {
	if len(list) == 1 {
		return by(ctx, conn, list[0])
	}
	return inTransaction(ctx, conn, slices.Values(list), by)
}

func inTransaction(ctx context.Context, conn *pgx.Conn, list iter.Seq[statement], by func(context.Context, db, statement) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for s := range list {
			if err := by(ctx, tx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func pgxConnect(ctx context.Context, t *target, mode pgx.QueryExecMode, set ...setUp) (*pgx.Conn, error) {
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
