package store

import (
	"context"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"
)

// pgxRoomy is pgx's Exec over a Unix socket with the send buffer that pgbulk uses.
func pgxRoomy() *contender {
	return pgxExec(baseline+"/sndbuf=2MB", cached, roomy)
}

// roomy gives a Unix socket a send buffer of 2 MB, as pgbulk does, so that the writer sleeps less
// often. The kernel may allow less (net.core.wmem_max).
func roomy(_ context.Context, conn *pgx.Conn) error {
	c, ok := conn.PgConn().Conn().(*net.UnixConn)
	if !ok {
		return errors.New("not a Unix socket")
	}
	return c.SetWriteBuffer(1 << 20) // the kernel doubles it
}
