package store

import (
	"context"
	"encoding/binary"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgxCopyOwn sends the rows by COPY like pgxCopy, in PostgreSQL's binary format too. But the
// program writes the format itself, without pgx's look at every value's type: see
// https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT.
func pgxCopyOwn() *contender {
	return &contender{
		name: "lib=pgx/call=copyfrom/data=own", module: pgxModule, insertsOnly: true,
		pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			data := &copyRows{types: conn.TypeMap()}
			for _, typ := range t.types {
				known, _ := data.types.TypeForName(typ)
				data.oids = append(data.oids, known.OID)
			}
			sql := "copy " + t.table + " (" + quoted() + ") from stdin (format binary)"
			return func(ctx context.Context) error {
				data.rows, data.ended = t.rows, false
				data.buf = append(append(data.buf[:0], "PGCOPY\n\xff\r\n\x00"...), make([]byte, 8)...)
				data.left = data.buf
				_, err := conn.PgConn().CopyFrom(ctx, data, sql)
				return err
			}, nil
		},
	}
}

// copyRows reads as rows in COPY's binary format.
type copyRows struct {
	types *pgtype.Map
	oids  []uint32
	rows  [][]any // not yet written
	buf   []byte  // kept
	left  []byte  // of buf, not yet read
	ended bool
}

func (c *copyRows) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if err := c.fill(len(p)); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// fill writes rows into the buffer, up to a size in bytes or a little more, and the end after the
// last.
func (c *copyRows) fill(size int) (err error) {
	c.buf = c.buf[:0]
	for len(c.rows) > 0 && len(c.buf) < size {
		c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(len(c.oids)))
		for i, v := range c.rows[0] {
			at := len(c.buf)
			if c.buf, err = c.append(append(c.buf, 0, 0, 0, 0), c.oids[i], v); err != nil {
				return err
			}
			binary.BigEndian.PutUint32(c.buf[at:], uint32(len(c.buf)-at-4))
		}
		c.rows = c.rows[1:]
	}
	if len(c.rows) == 0 {
		c.buf, c.ended = append(c.buf, 0xff, 0xff), true
	}
	c.left = c.buf
	return nil
}

// append appends a value in binary format.
func (c *copyRows) append(buf []byte, oid uint32, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		if oid == pgtype.JSONBOID {
			buf = append(buf, 1) // the format's version
		}
		return append(buf, v...), nil
	case int64:
		return binary.BigEndian.AppendUint64(buf, uint64(v)), nil
	case time.Time: // microseconds since 2000-01-01
		return binary.BigEndian.AppendUint64(buf, uint64(v.UnixMicro()-946_684_800_000_000)), nil
	case pgtype.UUID:
		return append(buf, v.Bytes[:]...), nil
	}
	return c.types.Encode(oid, pgx.BinaryFormatCode, v, buf)
}
