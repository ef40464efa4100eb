package store

import (
	"context"
	"database/sql"
	"errors"
)

// pqCopyIn sends the rows by lib/pq's COPY directly into the table, in the text format. It fails if
// a row exists.
func pqCopyIn() *contender {
	return &contender{
		name: "lib=pq/call=copyin", module: "github.com/lib/pq", insertsOnly: true,
		open: func(ctx context.Context, t *target) (*writer, error) {
			db, w, err := pqOpen(ctx, t)
			if err != nil {
				return nil, err
			}
			w.write = func() error {
				tx, err := db.Begin()
				if err != nil {
					return err
				}
				if err := copyIn(tx, t); err != nil {
					return errors.Join(err, tx.Rollback())
				}
				return tx.Commit()
			}
			return w, nil
		},
	}
}

func copyIn(tx *sql.Tx, t *target) error {
	statement, err := tx.Prepare("copy " + t.table + " (" + quoted(columns) + ") from stdin")
	if err != nil {
		return err
	}
	for _, row := range t.rows {
		if _, err := statement.Exec(row...); err != nil {
			return errors.Join(err, statement.Close())
		}
	}
	if _, err := statement.Exec(); err != nil {
		return errors.Join(err, statement.Close())
	}
	return statement.Close()
}
