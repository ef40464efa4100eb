package store

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// keptBuffer encodes the Bind message of a prepared statement into a kept buffer and sends it in
// one write. This is what the page asks of pgx, which has no setting for it.
func keptBuffer() *contender {
	return &contender{
		name: "lib=pgproto3/buffer=kept", module: pgxModule,
		pgx: func(ctx context.Context, conn *pgx.Conn, t *target) (func(context.Context) error, error) {
			list := t.statements()
			if err := prepareAll(ctx, conn, list); err != nil {
				return nil, err
			}
			var buffer []byte
			var parameters [][]byte
			return func(ctx context.Context) (err error) {
				if buffer, err = encodeAll(buffer[:0], &parameters, list, conn, t.types); err != nil {
					return err
				}
				return exchange(ctx, conn.PgConn(), buffer)
			}, nil
		},
	}
}

// prepared returns the name of the i-th statement on the server.
func prepared(i int) string { return fmt.Sprintf("page%d", i) }

func prepareAll(ctx context.Context, conn *pgx.Conn, list []statement) error {
	for i, s := range list {
		if _, err := conn.Prepare(ctx, prepared(i), s.sql); err != nil {
			return err
		}
	}
	return nil
}

// encodeAll appends the messages that run the statements: a Bind and an Execute for each, and one
// Sync, which makes them one transaction. parameters is reused memory. If not all values are
// strings, the connection's type map encodes them in binary, by the types of the columns.
func encodeAll(buffer []byte, parameters *[][]byte, list []statement, conn *pgx.Conn, types []string) (_ []byte, err error) {
	for i, s := range list {
		*parameters = (*parameters)[:0]
		bind := pgproto3.Bind{PreparedStatement: prepared(i)}
		if _, typed := s.args[0].(string); !typed {
			bind.ParameterFormatCodes = []int16{pgx.BinaryFormatCode}
		}
		for i, arg := range s.args {
			if bind.ParameterFormatCodes == nil {
				*parameters = append(*parameters, bytesIn(arg.(string)))
				continue
			}
			value, err := encoded(conn, types[i%len(types)], arg)
			if err != nil {
				return nil, err
			}
			*parameters = append(*parameters, value)
		}
		bind.Parameters = *parameters
		if buffer, err = bind.Encode(buffer); err != nil {
			return nil, err
		}
		if buffer, err = (&pgproto3.Execute{}).Encode(buffer); err != nil {
			return nil, err
		}
	}
	return (&pgproto3.Sync{}).Encode(buffer)
}

// bytesIn returns the bytes of a string, which must not be written to. Copying would be a cost that
// callers who have bytes do not pay.
func bytesIn(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// exchange writes messages in one call and reads the answers up to the one for Sync.
func exchange(ctx context.Context, conn *pgconn.PgConn, messages []byte) error {
	if _, err := conn.Conn().Write(messages); err != nil {
		return err
	}
	var failure error
	for {
		m, err := conn.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			failure = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return failure
		}
	}
}
