package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const precomputedName = "floor=precomputed"

// precomputed sends protocol bytes that were made beforehand in one write, and reads the
// answer. Nobody who has rows, and not these bytes, can do that.
func precomputed() *contender {
	return &contender{
		name: precomputedName, module: pgxModule, floor: true,
		open: func(ctx context.Context, t *target) (*writer, error) {
			conn, err := pgxConnect(ctx, t, pgx.QueryExecModeCacheStatement)
			if err != nil {
				return nil, err
			}
			list := statements(t.table, t.rows)
			if err := prepareAll(ctx, conn, list); err != nil {
				return nil, closing(conn, err)
			}
			messages, err := encodeAll(nil, new([][]byte), list)
			if err != nil {
				return nil, closing(conn, err)
			}
			return pgxWriter(conn, func(ctx context.Context) error {
				return exchange(ctx, conn.PgConn(), messages)
			}), nil
		},
	}
}

// memcpy copies the precomputed bytes, and sends them nowhere.
func memcpy() *contender {
	return &contender{
		name: "floor=memcpy", floor: true, writesNothing: true,
		open: func(_ context.Context, t *target) (*writer, error) {
			messages, err := encodeAll(nil, new([][]byte), statements(t.table, t.rows))
			if err != nil {
				return nil, err
			}
			return copier(messages), nil
		},
	}
}

// copier copies bytes into a kept buffer. The first copy is compared with the original.
func copier(original []byte) *writer {
	kept := make([]byte, len(original))
	proven := false
	return &writer{
		write: func() error {
			copy(kept, original)
			if !proven && !bytes.Equal(kept, original) {
				return errors.New("the copy differs from the original")
			}
			proven = true
			return nil
		},
		close: func() error { return nil },
	}
}
