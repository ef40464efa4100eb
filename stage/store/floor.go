package store

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const (
	precomputedName = "floor=precomputed"
	// roomyName is the same floor over a socket with a larger send buffer, as pgbulk uses it.
	roomyName = precomputedName + "/sndbuf=2MB"
)

// precomputed sends protocol bytes made beforehand, in one write, and reads the answers. A program
// that has rows, but not these bytes, cannot do that.
func precomputed(settings string) *contender {
	return &contender{
		name: precomputedName + settings, module: pgxModule, floor: true,
		pgx: func(ctx context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			list := t.statements()
			if err := prepareAll(ctx, conn, list); err != nil {
				return nil, err
			}
			messages, err := encodeAll(nil, new([][]byte), list, conn, t.types)
			return func(ctx context.Context) error { return exchange(ctx, conn.PgConn(), messages) }, err
		},
	}
}

// memcpy copies the precomputed bytes and does not send them.
func memcpy() *contender {
	return &contender{
		name: "floor=memcpy", floor: true, writesNothing: true,
		open: func(_ context.Context, t *target) (*writer, error) {
			messages, err := encodeAll(nil, new([][]byte), t.statements(), nil, t.types)
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
