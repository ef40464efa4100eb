package store

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

const precomputedCopyName = "floor=precomputed-copy"

// precomputedCopy sends a COPY into the table in one write, with binary data made beforehand. It
// bounds the ways that only insert.
func precomputedCopy() *contender {
	return &contender{
		name: precomputedCopyName, module: pgxModule, floor: true, insertsOnly: true,
		pgx: func(_ context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			if t.unix {
				if err := roomy(conn); err != nil {
					return nil, err
				}
			}
			messages, err := encodeCopy(conn, t)
			return func(ctx context.Context) error { return exchange(ctx, conn.PgConn(), messages) }, err
		},
	}
}

// encodeCopy returns the messages: COPY, its data in messages of 64 KB, and the end; see
// https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-BINARY-FORMAT.
func encodeCopy(conn *pgx.Conn, t *target) (messages []byte, err error) {
	copying := pgproto3.Query{String: "copy " + t.table + " (" + quoted(columns) + ") from stdin (format binary)"}
	if messages, err = copying.Encode(nil); err != nil {
		return nil, err
	}
	data := append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...)
	for i, row := range t.rows {
		data = binary.BigEndian.AppendUint16(data, uint16(len(row)))
		for j, v := range row {
			value, err := encoded(conn, t.types[j], v)
			if err != nil {
				return nil, err
			}
			data = append(binary.BigEndian.AppendUint32(data, uint32(len(value))), value...)
		}
		if i == len(t.rows)-1 {
			data = append(data, 0xff, 0xff)
		}
		if len(data) >= 64<<10 || i == len(t.rows)-1 {
			if messages, err = (&pgproto3.CopyData{Data: data}).Encode(messages); err != nil {
				return nil, err
			}
			data = data[:0]
		}
	}
	return (&pgproto3.CopyDone{}).Encode(messages)
}

// encoded returns a value in binary format.
func encoded(conn *pgx.Conn, typ string, v any) ([]byte, error) {
	known, _ := conn.TypeMap().TypeForName(typ)
	return conn.TypeMap().Encode(known.OID, pgx.BinaryFormatCode, v, []byte{}) // nil is NULL
}
