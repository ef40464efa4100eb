// Package store measures what it costs to get rows into PostgreSQL: driver against driver,
// call against call, buffer against buffer.
//
// # Work
//
// One operation writes all rows once: 1000 of 16 KB, the published page's, or 100,000 of 200 bytes.
// A row is an id, three random integers as text, and a JSON document with a string of random
// letters; rows are drawn from the run's seed. With data=json the document is an order with nested
// lines, words by Zipf's law and numbers, which compresses as documents do (random letters are
// pglz's worst case); with data=typed a row has an int8, a timestamptz, a uuid, a numeric and a
// text, and there are 100,000.
//
//   - op=direct encodes the page's one Bind message of 16.5 MB, and sends it nowhere.
//   - peer=sink sends to a protocol sink in a process of its own (package pgsink), which reads
//     everything and does nothing: what the client costs by itself.
//   - slice=memory sends 10 MB, 100 MB and 1 GB of rows that come one by one to the sink: see
//     peak-rss-B.
//   - peer=postgres writes to a real server (package postgres) that the run starts once. It needs
//     PostgreSQL 14.
//
// The statement is the page's INSERT ... ON CONFLICT DO UPDATE. With phase=update all rows exist;
// with phase=insert the table is empty, and there are ways more that can only insert; with
// phase=tenth all rows exist and nine of ten have the new values already. compression=unnamed is a
// column that is declared without, as most are. What the table needs in between, a VACUUM or a
// TRUNCATE, is done before each batch, untimed. The table has an index on the id, and no checkpoint
// or autovacuum comes in between. fsync is off unless the case's name says otherwise.
//
// # Proof
//
// On a server, the table is read back by lib/pq over a new connection, before and after
// the write: the number of rows and a digest over all columns. At the sink, what was
// received must hold every value of every row, in the rows' order.
//
// # Columns
//
// Client CPU, bytes and allocations are those of the contender's process. server-cpu-ns/op is
// the CPU time of the connection's own backend, or of the sink: no other process of the
// server is in it, and none is told of a server that is not the run's own. peak-rss-B is
// the peak of the contender's resident memory over an operation or two, with the rows
// themselves, about 17 MB, in it: compare it with the floor's.
//
// # Fairness
//
// Every connection is kept, and statements stay prepared where the library does so by itself. Rows
// are there as Go strings, in the [][]any that Exec, COPY and pgbulk take alike; unnest has to make
// its arrays of them, in the time. All ways are atomic: rows that have too many values for one
// statement (65,535) are several in one transaction. The exception are ways over several
// connections (connections=2), which are a transaction each and say so in their settings.
// sndbuf=2MB is the send buffer that pgbulk gives a Unix socket, given to pgx and to the floor.
// toast=lz4 is default_toast_compression of the session, or of the call.
//
// Note: a table in memory that grows with each insert was tried on paper in place of TRUNCATE
// and rejected: the floor, whose bytes are made beforehand, needs the same ids every time.
package store
