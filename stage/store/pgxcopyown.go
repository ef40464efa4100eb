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
	return copyOf("own", "format binary", func(types *pgtype.Map, oids []uint32) copyRows {
		return copyRows{
			head: "PGCOPY\n\xff\r\n\x00" + string(make([]byte, 8)), end: "\xff\xff",
			row: func(buf []byte, values []any) (_ []byte, err error) {
				buf = binary.BigEndian.AppendUint16(buf, uint16(len(oids)))
				for i, v := range values {
					at := len(buf)
					if buf, err = appendBinary(append(buf, 0, 0, 0, 0), types, oids[i], v); err != nil {
						return buf, err
					}
					binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
				}
				return buf, nil
			},
		}
	})
}

// copyOf sends rows by COPY in a format that the program writes itself.
func copyOf(data, options string, format func(types *pgtype.Map, oids []uint32) copyRows) *contender {
	return &contender{
		name: "lib=pgx/call=copyfrom/data=" + data, module: pgxModule, insertsOnly: true,
		pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			var oids []uint32
			for _, typ := range t.types {
				known, _ := conn.TypeMap().TypeForName(typ)
				oids = append(oids, known.OID)
			}
			rows := format(conn.TypeMap(), oids)
			sql := "copy " + t.table + " (" + quoted(columns) + ") from stdin (" + options + ")"
			return func(ctx context.Context) error {
				rows.rows, rows.ended = t.rows, false
				rows.buf = append(rows.buf[:0], rows.head...)
				rows.left = rows.buf
				_, err := conn.PgConn().CopyFrom(ctx, &rows, sql)
				return err
			}, nil
		},
	}
}

// copyRows reads as rows in one of COPY's formats.
type copyRows struct {
	head, end string // what stands before and after the rows
	row       func(buf []byte, values []any) ([]byte, error)
	rows      [][]any // not yet written
	buf       []byte  // kept
	left      []byte  // of buf, not yet read
	ended     bool
}

func (c *copyRows) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if err := c.fill(len(p)); err != nil {
			return 0, err
		}
		if len(c.left) == 0 {
			return 0, io.EOF
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
		if c.buf, err = c.row(c.buf, c.rows[0]); err != nil {
			return err
		}
		c.rows = c.rows[1:]
	}
	if len(c.rows) == 0 {
		c.buf, c.ended = append(c.buf, c.end...), true
	}
	c.left = c.buf
	return nil
}

// appendBinary appends a value in binary format.
func appendBinary(buf []byte, types *pgtype.Map, oid uint32, v any) ([]byte, error) {
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
	return types.Encode(oid, pgx.BinaryFormatCode, v, buf)
}
