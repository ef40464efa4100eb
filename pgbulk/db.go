package pgbulk

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DB is what can be written to: a *pgx.Conn, *pgxpool.Conn, *pgxpool.Pool (a connection is acquired
// for the call) or pgx.Tx, or what embeds one of them.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

var (
	_ DB = (*pgx.Conn)(nil)
	_ DB = (*pgxpool.Conn)(nil)
	_ DB = (*pgxpool.Pool)(nil)
	_ DB = (pgx.Tx)(nil)
)

// acquire returns db's connection, ready for use, and what gives it back.
func acquire(ctx context.Context, db DB) (*pgx.Conn, func(), error) {
	var conn *pgx.Conn
	release := func() {}
	switch db := db.(type) {
	case *pgx.Conn:
		conn = db
	case pgx.Tx:
		// An empty batch sends nothing, and tells whether the transaction is over.
		if err := db.SendBatch(ctx, &pgx.Batch{}).Close(); err != nil {
			return nil, nil, err
		}
		conn = db.Conn()
	case interface{ Conn() *pgx.Conn }:
		conn = db.Conn()
	case interface {
		Acquire(context.Context) (*pgxpool.Conn, error)
	}:
		c, err := db.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		conn, release = c.Conn(), c.Release
	default:
		return nil, nil, fmt.Errorf("cannot take a connection from a %T", db)
	}
	if err := ready(ctx, conn); err != nil {
		release()
		return nil, nil, err
	}
	return conn, release, nil
}

// connection is what is known of a connection. It lives in its custom data.
type connection struct {
	mode     pgx.QueryExecMode
	tracer   pgx.QueryTracer // or nil
	enlarged bool            // its socket's buffer
	types    map[uint32]serverType
	prepared prepared
}

const connectionKey = "postage/pgbulk"

func connectionOf(conn *pgx.Conn) *connection {
	data := conn.PgConn().CustomData()
	c, ok := data[connectionKey].(*connection)
	if !ok {
		config := conn.Config() // a copy of all of it
		c = &connection{mode: config.DefaultQueryExecMode, tracer: config.Tracer, types: map[uint32]serverType{}}
		data[connectionKey] = c
	}
	return c
}

func ready(ctx context.Context, conn *pgx.Conn) error {
	switch pc := conn.PgConn(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case pc.IsClosed():
		return errors.New("the connection is closed")
	case pc.IsBusy():
		return errors.New("the connection is busy")
	case pc.TxStatus() == 'E':
		return errors.New("the transaction is aborted, roll it back first")
	}
	return nil
}
