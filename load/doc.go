// Package load sends requests to a server at a rate of its own choosing, whatever the
// server does (an open loop), and says how long they took.
//
// The pipeline is:
//
//  1. Request i is due at start + i/rate. A pacer hands requests out in order, as they
//     become due, to whichever line (a connection) has room.
//  2. Its latency is counted from when it was due, not from when it was sent. A server
//     that stands still is thus charged for all who would have come meanwhile; counting
//     from the sending would leave them out (coordinated omission).
//  3. How late a request was sent for which there was room is kept apart: that is the
//     generator's own fault. If it was late, or its processors were busy, the latencies
//     say more of the generator than of the server, and Result.Invalid says so.
//
// Without a rate, every line sends its next request as soon as it has an answer (a
// closed loop): that measures throughput, and its latencies are not corrected.
package load
