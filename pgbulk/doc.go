// Package pgbulk writes many rows, or large values, into PostgreSQL over jackc/pgx/v5 connections
// without the copies that the usual calls make.
//
// pgx's Exec holds every parameter at least twice before a byte is sent: once encoded, once more in
// the message. For a thousand rows of 16 KB that is more than a hundred megabytes. This package
// sums the lengths first, writes the exact header of the Bind message, and then streams the values:
// small ones through one buffer of 64 KB that is used again and again, large ones from where they
// are (writev); rows come from an iterator and are never collected. Memory does not grow with the
// number of rows.
//
// The calls are:
//
//   - [Exec] runs any one statement, with its parameters streamed.
//   - [Upsert] inserts rows and updates those whose key exists (INSERT ... ON CONFLICT).
//   - [Insert] inserts rows.
//   - [Update] and [Delete] find rows by their key.
//   - A [Writer] does one of these with rows that are pushed.
//   - [UpsertSharded] and [InsertSharded] share the rows over several connections, which is not one
//     transaction.
//
// Rows are written by one of three strategies (see [Strategy]); Auto chooses:
//
//   - Bind: INSERT ... VALUES with the rows as parameters, in statements of at most 65,535
//     parameters (the protocol's limit), all pipelined under one Sync.
//   - Copy: COPY in binary format, for a plain insert straight into the table, otherwise into a
//     temporary table that INSERT ... SELECT then reads, all of it in one round trip.
//   - Unnest: INSERT ... SELECT unnest(...) with an array a column as parameters, pipelined as Bind
//     is.
//
// A call is atomic: all rows are written, or none. Outside a transaction it begins its own. Inside
// the caller's transaction (a pgx.Tx, or a connection on which BEGIN was run) it is part of that
// one, which a failed call leaves aborted, as any failed statement does. An error is an [*Error]
// that says which row and column it is about, and whether the connection had to be closed. A
// connection is never handed back out of step with the protocol.
//
// This package is opinionated:
//
//   - It writes to the net.Conn below pgx itself and reads with [pgconn.PgConn.ReceiveMessage], in
//     a goroutine of its own if writing takes long, so that a server with much to say never waits
//     for a client that is busy writing. TLS, pools, notices, notifications and the connection's
//     tracers still work.
//   - A Unix socket that large values are written to gets a send buffer of up to 2 MB (SO_SNDBUF,
//     Linux only).
//   - Strings and bytes for text, json, jsonb and bytea columns go to the socket as they are.
//     Numbers, booleans, times and UUIDs are encoded here, to the same bytes as by pgx's codecs.
//     All other values are encoded by the connection's type map, in binary where it has a codec.
//   - A context that ends cancels the statement on the server, and the connection stays usable if
//     the server answers within [CancelGrace].
//
// Note: hijacking the connection (pgconn.PgConn.Hijack) was rejected: it makes the *pgx.Conn that
// pools and transactions hold useless. Writing with pgconn's Pipeline was rejected too: its buffer
// grows with the message. An empty Pipeline locks the connection while the source of rows runs.
package pgbulk
