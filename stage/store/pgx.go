package store

import (
	"cmp"
	"context"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
	"postage/record"
)

const pgxModule = "github.com/jackc/pgx/v5"

// begin does what comes before the first write of a target's rows over a connection, and returns
// the function that writes them.
type begin func(context.Context, *pgx.Conn, *target) (func(context.Context) error, error)

// unprepared is begin where nothing comes before the first write.
func unprepared(write func(context.Context, *pgx.Conn, *target) error) begin {
	return func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
		return func(ctx context.Context) error { return write(ctx, conn, t) }, nil
	}
}

// onPgx opens a contender with a connection of pgx's, set up as its name says.
func onPgx(ctx context.Context, t *target, name string, begin begin) (*writer, error) {
	config, err := t.far.config(t.dsn)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = modes[record.KeysOf(name).Get("mode")]
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	var write func(context.Context) error
	if err = setUp(ctx, conn, name); err == nil {
		write, err = begin(ctx, conn, t)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return &writer{
		backend: int(conn.PgConn().PID()),
		write:   func() error { return write(context.Background()) },
		close:   func() error { return conn.Close(context.Background()) },
	}, nil
}

// modes maps the names in rows to the modes of pgx's Exec. They differ in round trips, and in
// whether the server gets parameters or one long text.
var modes = map[string]pgx.QueryExecMode{
	"": pgx.QueryExecModeCacheStatement, "cache-describe": pgx.QueryExecModeCacheDescribe, "describe-exec": pgx.QueryExecModeDescribeExec,
	"exec": pgx.QueryExecModeExec, "simple": pgx.QueryExecModeSimpleProtocol,
}

// setUp does to a connection, before anything is timed, what a contender's name says: toast=lz4
// compresses values with lz4 where the column names no method.
func setUp(ctx context.Context, conn *pgx.Conn, name string) (err error) {
	keys := record.KeysOf(name)
	if keys.Get("toast") == "lz4" {
		_, err = conn.Exec(ctx, "set default_toast_compression = lz4")
	}
	if keys.Get("sndbuf") == "2MB" {
		err = cmp.Or(err, roomy(conn))
	}
	return err
}

// roomy gives a Unix socket a send buffer of 2 MB, as pgbulk does, so that the writer sleeps less
// often. The kernel may allow less (net.core.wmem_max).
func roomy(conn *pgx.Conn) error {
	c, ok := conn.PgConn().Conn().(*net.UnixConn)
	if !ok {
		return errors.New("not a Unix socket")
	}
	return c.SetWriteBuffer(1 << 20) // the kernel doubles it
}

// pgxExec is what most services do: pgx's Exec of one statement with all values. Rows with too many
// values for one statement take several in one transaction.
func pgxExec(settings string) *contender {
	name := baseline + settings
	c := exec(name, pgxModule, byPgx)
	c.settings = map[string]string{"mode": modes[record.KeysOf(name).Get("mode")].String()}
	return c
}

// exec is a call of a function with each statement.
func exec(name, module string, by func(context.Context, db, statement) error) *contender {
	return &contender{name: name, module: module, pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
		list := t.statements()
		return func(ctx context.Context) error { return execAll(ctx, conn, list, by) }, nil
	}}
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
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, s := range list {
			if err := by(ctx, tx, s); err != nil {
				return err
			}
		}
		return nil
	})
}
