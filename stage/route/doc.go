// Package route measures the whole way of a message through a service, and its parts: of an order,
// or, in the program of a brought message, of that. docs/route.md says what an operation is, what
// the rows are and how their figures add up.
//
// This stage does nothing in its own way. Codecs and compressions come from stage encode, sealing
// from seal, protocols and their servers from send, calls and the sink from store. All keep the
// names that they have there. Several orders make one request as gRPC frames a stream of messages:
// each has its length before it.
//
// Note: a part is measured on the way, with all else made beforehand. A step that runs alone in a
// loop costs less, as it finds data and code in the caches and its process never sleeps; sums of
// such parts missed a quarter of the whole.
package route
