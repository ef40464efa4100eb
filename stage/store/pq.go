package store

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/lib/pq" // the driver "postgres"
)

// pqExec is lib/pq through database/sql.
func pqExec() *contender {
	return &contender{
		name: "lib=pq/call=exec", module: "github.com/lib/pq",
		open: func(ctx context.Context, t *target) (*writer, error) {
			db, err := sql.Open("postgres", t.dsn)
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(1) // so that the backend stays the same
			w := &writer{close: db.Close}
			err = db.QueryRowContext(ctx, "select pg_backend_pid()").Scan(&w.backend)
			if err != nil && !errors.Is(err, sql.ErrNoRows) { // the sink answers so
				return nil, errors.Join(err, db.Close())
			}
			list := t.statements()
			w.write = func() error {
				if len(list) == 1 {
					_, err := db.Exec(list[0].sql, list[0].args...)
					return err
				}
				tx, err := db.Begin()
				if err != nil {
					return err
				}
				for _, s := range list {
					if _, err := tx.Exec(s.sql, s.args...); err != nil {
						return errors.Join(err, tx.Rollback())
					}
				}
				return tx.Commit()
			}
			return w, nil
		},
	}
}
