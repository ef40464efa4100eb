// Package route measures the whole way of a message through a service, and its parts: of an order,
// or, in the program of a brought message, of that.
//
// # An operation
//
// Two processes on one machine talk over loopback, with TLS 1.3, on a kept connection. The client
// encodes an order, or 100 in one request, and compresses it or not. The server decompresses and
// decodes it, reads every field, and stores a row for each order: its serial, reference, time and
// total, and its bytes as they came. It answers with a receipt that has the sum over every field
// that it read, which the client decodes and compares.
//
// This stage does nothing in its own way. Codecs and compressions come from stage encode, sealing
// from seal, protocols and their servers from send, calls and the sink from store. All keep the
// names that they have there. Several orders make one request as gRPC frames a stream of messages:
// each has its length before it.
//
// # Rows
//
// The baseline is what most services have. A row changes one thing of it, which its name says; a
// few change two. The floor sends bytes that were made beforehand over TLS alone, and its server
// writes protocol bytes that were made beforehand.
//
// A row that begins with part= does one step of a way; everything else was made beforehand:
// encoding (request and receipt), compressing and decompressing, decoding and making rows (and
// decoding the receipt), storing rows; or none, which is the transport. What a step costs is what
// it adds to the transport. Note: a step that runs alone in a loop costs less, as it finds data and
// code in the caches and its process never sleeps; sums of such parts missed a quarter of the
// whole. Parts stand with the floors: nobody can choose to do a part alone.
//
// # Figures
//
// Rows are compared by wall time, as one operation waits for another process. CPU time
// adds up the client, the server, and PostgreSQL's process for the server's connection. A sink's is
// not counted: it stands for a server and does none of its work. What the whole has beyond the sum
// of its parts is in no part alone.
package route
