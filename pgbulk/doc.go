// Package pgbulk writes many rows, or large values, into PostgreSQL over jackc/pgx/v5 connections
// without the copies that the usual calls make:
//
//	table := pgbulk.Table{Name: pgx.Identifier{"accounts"}, Key: []string{"id"}}
//	result, err := pgbulk.Upsert(ctx, pool, table, pgbulk.Structs(accounts), pgbulk.UpsertOptions{})
//
// pgx's Exec holds every parameter twice before a byte is sent. This package sums the lengths
// first, writes the exact header of the message, and then streams the values: small ones through
// one buffer of 64 KB, large ones from where they are (writev). Rows come from an iterator and are
// never collected: memory does not grow with their number.
//
//   - [Insert], [Upsert] and [Update] write the rows of a [Source].
//   - [Exec] runs any one statement, with its parameters streamed.
//
// A call is atomic: all rows are written, or none. Outside a transaction it begins its own. Inside
// the caller's (a pgx.Tx, or a connection on which BEGIN was run) it is part of that one, which a
// failed call leaves aborted, as any failed statement does. An error is an [*Error]: it says which
// row and column it is about, and whether the connection had to be closed. A connection is never
// handed back out of step with the protocol. A context that ends cancels the statement on the
// server, and the connection stays usable if the server answers within [CancelGrace].
//
// This package is opinionated. It writes to the net.Conn below pgx itself and reads with
// [pgconn.PgConn.ReceiveMessage]; TLS, pools, notices, notifications and the connection's tracers
// still work. A Unix socket that large values are written to gets a send buffer of up to 2 MB
// (SO_SNDBUF). What is usual is encoded here, to the same bytes as by pgx's codecs; all
// else by the connection's type map, in binary where it has a codec. docs/pgbulk.md has the rest.
package pgbulk

// Hijacking the connection (pgconn.PgConn.Hijack) was rejected: it makes the *pgx.Conn that pools
// and transactions hold useless. Writing with pgconn's Pipeline was rejected too: its buffer grows
// with the message. An empty Pipeline locks the connection while the source of rows runs.
