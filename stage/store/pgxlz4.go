package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgxLZ4 is pgx's Exec in a session that compresses values with lz4 where the column names no
// method.
func pgxLZ4() *contender {
	return pgxExec(baseline+"/toast=lz4", cached, lz4)
}

func lz4(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "set default_toast_compression = lz4")
	return err
}
