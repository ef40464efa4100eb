package store

import (
	"bytes"
	"context"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"
)

const (
	precomputedName = "floor=precomputed"
	// roomyName is the same over a socket with a larger send buffer, as pgbulk has it: the
	// writer sleeps less often. The kernel may allow less (net.core.wmem_max).
	roomyName = "floor=precomputed/sndbuf=2MB"
)

// precomputed sends protocol bytes that were made beforehand in one write, and reads the
// answer. Nobody who has rows, and not these bytes, can do that. The socket's send buffer is set
// to sendBuffer bytes, or left as it is if that is 0.
func precomputed(name string, sendBuffer int) *contender {
	return &contender{
		name: name, module: pgxModule, floor: true,
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
			if sendBuffer > 0 {
				c, ok := conn.PgConn().Conn().(*net.UnixConn)
				if !ok {
					return nil, closing(conn, errors.New("not a Unix socket"))
				}
				if err := c.SetWriteBuffer(sendBuffer / 2); err != nil { // the kernel doubles it
					return nil, closing(conn, err)
				}
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
