// Package store measures what it costs to get rows into PostgreSQL: driver against driver,
// call against call, buffer against buffer.
//
// # Work
//
// One operation writes all rows once: 1000 of 16 KB, as on the published page, or what the options
// rows=N and size=N say. A row has an id, three random integers as text, and a JSON document with a
// string of random letters. Rows are drawn from the run's seed. With data=json the document is an
// order with nested lines, numbers, and words drawn by Zipf's law, which compresses as documents do
// (random letters are pglz's worst case). With data=typed a row has an int8, a timestamptz, a
// uuid, a numeric and a text.
//
//   - op=direct encodes the page's one Bind message of 16.5 MB, and does not send it.
//   - peer=sink sends to a protocol sink in a process of its own (package pgsink), which reads
//     everything and does nothing: this shows what the client alone costs.
//   - peer=postgres writes to a real server (package postgres) that the run starts once. It needs
//     PostgreSQL 14.
//   - slice=small inserts, upserts or updates a few typed rows of 100 bytes on a real server, 5 ms
//     away (package link), where round trips decide.
//
// The statement is the page's INSERT ... ON CONFLICT DO UPDATE. With phase=update all rows exist.
// With phase=insert the table is empty, and there are additional ways that can only insert.
// compression=unnamed is a column declared without a compression, as most are. The VACUUM or
// TRUNCATE that the table needs is done before each batch, untimed. The table has an index on the
// id. No checkpoint and no autovacuum happen during a batch. fsync is off and the transport a Unix
// socket, unless options say otherwise; the rows of a user's server have what that server has.
//
// # Proof
//
// On a server, lib/pq reads the table back over a new connection, before and after the write, and
// compares the number of rows and a digest over all columns. At the sink, the received bytes must
// have every value of every row, in the rows' order.
//
// # Columns
//
// Client CPU, bytes and allocations are of the contender's own process. server-cpu-ns/op is the
// CPU time of the connection's own backend, or of the sink. It does not count the server's other
// processes, and it is only known for a server that the run started.
//
// # Fairness
//
// Every connection is kept, and statements stay prepared if the library does that by itself. The
// rows are Go strings in the [][]any that Exec, COPY and pgbulk all take. unnest must make its arrays
// from the rows, which is timed. All ways are atomic: rows with too many values for one
// statement (65,535) take several in one transaction.
// sndbuf=2MB is the send buffer that pgbulk gives a Unix socket, here given to pgx and to the
// floor. toast=lz4 is default_toast_compression of the session.
//
// Note: a table in memory that grows with each insert was considered instead of TRUNCATE and
// rejected: the floor, whose bytes are made beforehand, needs the same ids every time.
package store
