package send

import (
	"fmt"

	"postage/internal/service/greeter"
)

// Counters returns what the operations have cost so far, apart from the client's own time and
// memory, which the lab measures. It is called between batches. It returns an error, which ends the
// row, if connections were not reused, or not new, as the row's name says.
func (in *instance) Counters() (map[string]float64, error) {
	now, err := in.server.Counters()
	if err != nil {
		return nil, err
	}
	if err := in.keptWord(now); err != nil {
		return nil, err
	}
	in.done.last, in.done.counted = now, in.done.begun
	out, received := in.bytes()
	counters := map[string]float64{
		"server-allocs/op": float64(now.Allocs),
		"server-B/op":      float64(now.Bytes),
		"wire-out-B/op":    float64(out),
		"wire-in-B/op":     float64(received),
	}
	if now.CPUNS >= 0 {
		counters["server-cpu-ns/op"] = float64(now.CPUNS)
	}
	return counters, in.network.Counters(counters)
}

// keptWord compares what the server has seen since the last call with the operations that were
// done.
func (in *instance) keptWord(now greeter.Counters) error {
	ops := in.done.begun - in.done.counted
	if ops == 0 {
		return nil
	}
	opened := now.Conns - in.done.last.Conns
	if served := now.Requests - in.done.last.Requests; !in.transport.handshakeOnly && served != ops {
		return fmt.Errorf("the server saw %d requests in %d operations", served, ops)
	}
	clients, lost := int64(len(in.clients)), int64(0)
	if in.transport.givesUp() {
		lost = in.done.begun / 100
	}
	if conns := now.Conns - in.done.replaced; in.spec.reuse && conns > clients+lost {
		return fmt.Errorf("the server saw %d connections, want the same %d kept", conns, clients)
	}
	if !in.spec.reuse && opened != ops {
		return fmt.Errorf("the server saw %d new connections in %d operations, want one each", opened, ops)
	}
	return nil
}

// bytes returns how many bytes the clients have sent and received.
func (in *instance) bytes() (out, received int64) {
	for _, t := range in.targets {
		out += t.wire.Out.Load()
		received += t.wire.In.Load()
	}
	return out, received
}
