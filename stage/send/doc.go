// Package send measures what it costs to send a message to another process and have the
// answer back, protocol against protocol.
//
// # An operation
//
// A request is encoded, sent, decoded, answered; the answer is received, decoded and
// checked. Server and client are processes of their own on one machine, talking over
// loopback. The server is package greeter's, started for each block. Where a
// connection is not reused, an operation begins with connecting and ends when the
// connection is closed at the client.
//
// # Dimensions
//
// The pages that compare protocols change several things at once. Here each has a name
// of its own in the row's name, or is fixed by the case:
//
//   - proto: http1, http2, http3, grpc, grpcweb, connect; over and lib say by what
//   - tls: off, on; always TLS 1.3 with verification of the certificate
//   - reuse: whether the connection is kept
//   - resume: on new connections, whether TLS sessions are: no, yes, 0rtt
//   - cert: the kind of the certificate's key
//   - body: json or proto, over each protocol by the same code; vtproto
//   - size: of the payload each way; hello is the page's few bytes
//   - inflight: operations under way at a time; conns: connections that they share
//
// A case, called a slice, sweeps one of them and holds the others fixed.
//
// # Columns
//
// Besides the lab's (the client's time and memory): the server's CPU time, allocations
// and bytes, which it answers itself when it is asked between batches; the bytes that
// crossed each direction, counted at the client's socket, without the headers of TCP, UDP
// and IP; the distribution of the operations' latencies. A clock is read once an
// operation for it, about 50 ns.
//
// # Proof
//
// The server counts connections, requests, handshakes and resumed ones, and remembers
// what was negotiated. Prove compares that with the row's name and with what the client
// saw; Counters does so again for connections after every batch.
//
// # Closing
//
// A connection that is not reused is closed by FIN, as programs do, not by a reset (SO_LINGER 0),
// which would be cheaper than what it stands for and may lose data. The port then rests in
// TIME_WAIT. Linux reuses such ports on loopback after a second; where that is switched off, and on
// other systems once connect finds no free port, the row ends with that reason.
//
// Note: over HTTP/3 and raw QUIC a client's connections, new ones too, share one UDP
// socket, as quic-go's users have it. So a new QUIC connection costs no system call to
// open a socket, which a new TCP connection does.
package send
