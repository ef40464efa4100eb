package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
)

const (
	precomputedName = "floor=precomputed"
	// roomyName is the same floor over a socket with a larger send buffer, as pgbulk uses it.
	roomyName = "floor=precomputed/sndbuf=2MB"
)

// precomputed sends protocol bytes made beforehand, in one write to each of n connections, and
// reads the answers. A program that has rows, but not these bytes, cannot do that.
func precomputed(name string, n int, set ...setUp) *contender {
	return &contender{
		name: name, module: pgxModule, floor: true,
		open: func(ctx context.Context, t *target) (*writer, error) {
			conns, err := connectSeveral(ctx, t, n, set...)
			if err != nil {
				return nil, err
			}
			var parts [][]byte
			for rows := range slices.Chunk(t.rows, (len(t.rows)+n-1)/n) {
				list := statements(t.table, rows)
				conn := conns[len(parts)]
				if err := prepareAll(ctx, conn, list); err != nil {
					return nil, closing(conn, err)
				}
				messages, err := encodeAll(nil, new([][]byte), list, conn)
				if err != nil {
					return nil, closing(conn, err)
				}
				parts = append(parts, messages)
			}
			return pgxWriter(func(ctx context.Context) error {
				return together(len(parts), func(i int) error { return exchange(ctx, conns[i].PgConn(), parts[i]) })
			}, conns...), nil
		},
	}
}

// memcpy copies the precomputed bytes and does not send them.
func memcpy() *contender {
	return &contender{
		name: "floor=memcpy", floor: true, writesNothing: true,
		open: func(_ context.Context, t *target) (*writer, error) {
			messages, err := encodeAll(nil, new([][]byte), statements(t.table, t.rows), nil)
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
