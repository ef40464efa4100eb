package store

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
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
			return inParts(ctx, t, n, set, func(conn *pgx.Conn, part *target) ([]byte, error) {
				list := statements(part.table, part.rows)
				if err := prepareAll(ctx, conn, list); err != nil {
					return nil, err
				}
				return encodeAll(nil, new([][]byte), list, conn, t.types)
			})
		},
	}
}

// inParts opens n connections, has the messages made of each one's part of the rows, and returns a
// writer that sends them all at the same time.
func inParts(ctx context.Context, t *target, n int, set []setUp, messages func(*pgx.Conn, *target) ([]byte, error)) (*writer, error) {
	conns, err := connectSeveral(ctx, t, n, set...)
	if err != nil {
		return nil, err
	}
	var parts [][]byte
	w := pgxWriter(func(ctx context.Context) error {
		return together(len(parts), func(i int) error { return exchange(ctx, conns[i].PgConn(), parts[i]) })
	}, conns...)
	for rows := range slices.Chunk(t.rows, (len(t.rows)+n-1)/n) {
		part := *t
		part.rows = rows
		bytes, err := messages(conns[len(parts)], &part)
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		parts = append(parts, bytes)
	}
	return w, nil
}

// memcpy copies the precomputed bytes and does not send them.
func memcpy() *contender {
	return &contender{
		name: "floor=memcpy", floor: true, writesNothing: true,
		open: func(_ context.Context, t *target) (*writer, error) {
			messages, err := encodeAll(nil, new([][]byte), statements(t.table, t.rows), nil, t.types)
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
