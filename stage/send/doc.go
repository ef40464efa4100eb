// Package send measures what it costs to send a message to another process and get the answer back,
// protocol against protocol.
//
// # An operation
//
// A request is encoded, sent, decoded and answered; the answer is received, decoded and checked.
// Server and client are processes of their own on one machine and talk over loopback. The server is
// package greeter's, started for each block. If a connection is not reused, an operation begins
// with connecting and ends when the client has closed the connection.
//
// # Dimensions
//
// Pages that compare protocols change several things at a time. Here each is named in the row's
// name, or fixed by the case:
//
//   - proto: http1, http2, http3, grpc, grpcweb, connect; over and lib name the HTTP version and
//     the library
//   - tls: off, on; always TLS 1.3, with the certificate verified
//   - reuse: whether the connection is kept
//   - resume: whether new connections resume TLS sessions: no, yes, 0rtt
//   - cert: the kind of the certificate's key
//   - body: json or proto, with the same code for each protocol; vtproto
//   - size: of the payload in each direction; hello is the page's few bytes
//   - inflight: operations under way at a time; conns: connections that they share
//
// A case, called a slice, varies one of them and holds the others fixed. Options of a run set size,
// inflight and the size of an answer; --link puts a network between the two.
//
// # Columns
//
// Besides the lab's columns (the client's time and memory) there are the server's CPU time,
// allocations and bytes, which it reports when it is asked between batches; the bytes in each
// direction, counted at the client's socket, without the headers of TCP, UDP and IP; and the
// distribution of the operations' latencies. For that a clock is read once an operation, which
// takes about 50 ns.
//
// # Proof
//
// The server counts connections, requests, handshakes and resumed sessions, and remembers what was
// negotiated. Prove compares that with the row's name and with what the client saw. Counters checks
// connections again after every batch.
//
// # Closing
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
