package store

import (
	"context"
	"errors"
	"reflect"
	"unsafe"

	pgx4 "github.com/jackc/pgx/v4"
)

const pgx4Module = "github.com/jackc/pgx/v4"

// pgx4Exec is the page's way: Exec of pgx v4 on a connection whose write buffer has the given
// starting capacity. The buffer grows again in each call. 1 KB is pgconn's own capacity. For the
// others the page edited a copy of pgconn; this code sets the unexported field.
func pgx4Exec(capacity capacity) *contender {
	name := "lib=pgx4/call=exec/start=" + capacity.name
	return &contender{
		name: name, module: pgx4Module,
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgx4.Connect(ctx, t.dsn)
			if err != nil {
				return nil, err
			}
			field := reflect.ValueOf(conn.PgConn()).Elem().FieldByName("wbuf")
			if !field.IsValid() || field.Type() != reflect.TypeFor[[]byte]() {
				return nil, errors.Join(errors.New("this version of pgconn has no write buffer named wbuf"), conn.Close(ctx))
			}
			*(*[]byte)(unsafe.Pointer(field.UnsafeAddr())) = make([]byte, 0, capacity.bytes)
			list := t.statements()
			return &writer{
				backend: int(conn.PgConn().PID()),
				close:   func() error { return conn.Close(context.Background()) },
				write: func() error {
					ctx := context.Background()
					if len(list) == 1 {
						_, err := conn.Exec(ctx, list[0].sql, list[0].args...)
						return err
					}
					return conn.BeginFunc(ctx, func(tx pgx4.Tx) error {
						for _, s := range list {
							if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
								return err
							}
						}
						return nil
					})
				},
			}, nil
		},
	}
}
