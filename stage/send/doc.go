// Package send measures what it costs to send a message to another process and get the answer back,
// protocol against protocol. docs/send.md says what an operation is, what the cases vary and what
// the columns are.
//
// Server and client are processes of their own on one machine. The server is package greeter's,
// started for each block. It counts connections, requests, handshakes and resumed sessions, and
// remembers what was negotiated. Prove compares that with the row's name and with what the client
// saw; Counters checks connections again after every batch.
//
// A connection that is not reused is closed with FIN, as programs do. A reset (SO_LINGER 0) would
// be cheaper than what programs do, and may lose data. The port then stays in TIME_WAIT. On
// loopback, Linux reuses such ports after a second. Where that is switched off, and on other
// systems once connect finds no free port, the row ends with that reason.
//
// Note: over HTTP/3 and raw QUIC all of a client's connections, new ones too, share one UDP socket,
// as is usual with quic-go. A new QUIC connection therefore needs no system call to open a socket;
// a new TCP connection does.
package send
