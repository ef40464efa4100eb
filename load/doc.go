// Package load sends requests to a server at a rate of its own choosing, whatever the
// server does (an open loop), and says how long they took.
//
//	target := &load.Target{Proto: "http2", Conns: 2, Streams: 10, Request: load.Request{URL: u}}
//	pool, err := load.Open(ctx, target)
//	…
//	defer pool.Close()
//	plan := load.Plan{Pacer: load.Constant{Rate: 500, For: time.Minute}, Lines: pool.Lines}
//	result, err := load.Run(ctx, plan)
//	…
//	return result.WriteTable(os.Stdout)
//
// The pipeline is:
//
//  1. A pacer says when each request is due: request i at start + i/rate. Any line (a connection)
//     that has room takes the next.
//  2. Its latency is counted from when it was due, not from when it was sent. A server that stalls
//     is thus charged for every request that came due meanwhile; counting from the sending would
//     leave them out (coordinated omission).
//  3. A generator that does not run makes requests wait too. Each loop knows when it did not run, so
//     a request has two latencies: the most and the least that the server may have taken
//     (Result.Between). Result.Invalid says when neither describes the server.
//
// Without a rate, every line sends its next request as soon as it has an answer (a
// closed loop): that measures throughput, and its latencies are not corrected.
package load
