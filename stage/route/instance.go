package route

import (
	"context"
	"errors"
	"fmt"

	"postage/internal/proc"
	"postage/internal/service/greeter"
	"postage/lab"
	"postage/record"
	"postage/stage/send"
	"postage/stage/store"
)

// databaseCPU is the CPU time of the database's processes for the server's connection.
const databaseCPU = "database-cpu-ns/op"

// An instance is an open row: a way from end to end, or a step of one alone.
type instance struct {
	*lab.Lanes
	prove    func(ctx context.Context) error
	far      *far         // nil for a step that is done in this process alone
	place    *store.Place // nil where nothing is stored
	call     *store.Call  // nil where a server of ours stores
	backends []int        // the database's processes
	least    int
}

var (
	_ lab.Instance    = (*instance)(nil)
	_ lab.Counted     = (*instance)(nil)
	_ lab.Prepared    = (*instance)(nil)
	_ lab.Distributed = (*instance)(nil)
	_ lab.Sized       = (*instance)(nil)
)

// does sets what an operation is.
func (in *instance) does(do func() error) {
	in.Lanes = lab.NewLanes(1, func(int) error { return do() })
}

// MinOps is how many operations a batch has at least. The server counts what asking it costs, once
// a batch, and a part must not have less of that than the whole.
func (in *instance) MinOps() int { return in.least }

// leastOps are MinOps where an operation has so many orders.
func leastOps(msgs int) int { return max(8, 100/msgs) }

func (in *instance) Prove(ctx context.Context) error { return in.prove(ctx) }

func (in *instance) Run(n int) error {
	err := in.Lanes.Run(n)
	if err != nil && in.far != nil {
		err = in.far.server.Explain(err)
	}
	if err != nil {
		return fmt.Errorf("route: %w", err)
	}
	return nil
}

func (in *instance) Prepare() error {
	if in.place == nil {
		return nil
	}
	return in.place.Prepare()
}

func (in *instance) Counters() (map[string]float64, error) {
	m := map[string]float64{}
	if in.far != nil {
		if err := in.far.count(m); err != nil {
			return nil, err
		}
	}
	if in.place != nil {
		cpu, known, err := in.place.BackendCPU(in.backends)
		if err != nil {
			return nil, err
		}
		if known {
			m[databaseCPU] = float64(cpu)
		}
	}
	return m, nil
}

func (in *instance) Close() error {
	var errs []error
	if in.far != nil {
		errs = append(errs, in.far.exchange.Close(), in.far.server.Close())
	}
	if in.call != nil {
		errs = append(errs, in.call.Close())
	}
	if in.place != nil {
		errs = append(errs, in.place.Close())
	}
	return errors.Join(errs...)
}

// far is a server in a process of its own, with a kept connection to it.
type far struct {
	server   *proc.Child
	exchange *send.Exchange
}

// start starts a server, connects to it, and makes it the instance's.
func (in *instance) start(ctx context.Context, c config) error {
	p, err := send.NewProtocol(c.Way.Proto)
	if err != nil {
		return err
	}
	c.Listen = p.Server
	var at ready
	f := &far{}
	if f.server, err = proc.StartServer(ctx, serverName, c, &at); err != nil {
		return err
	}
	if f.exchange, err = p.Dial(ctx, at.Addr, f.server.Done()); err != nil {
		return errors.Join(err, f.server.Close())
	}
	in.far, in.backends = f, at.Backends
	return nil
}

// count adds the server's counters, and the bytes on the wire.
func (f *far) count(m map[string]float64) error {
	c, err := f.seen()
	if err != nil {
		return err
	}
	out, received := f.exchange.Wire()
	m[record.WireOut], m[record.WireIn] = float64(out), float64(received)
	m["server-allocs/op"], m["server-B/op"] = float64(c.Allocs), float64(c.Bytes)
	if c.CPUNS >= 0 {
		m[record.ServerCPU] = float64(c.CPUNS)
	}
	return nil
}

func (f *far) seen() (c greeter.Counters, err error) {
	err = f.server.Ask("counters", &c)
	return c, err
}

// proven compares what the server has seen with what was sent, and the protocol with the row's.
func (f *far) proven(calls int64, leastBytes int) error {
	c, err := f.seen()
	if err != nil {
		return err
	}
	if c.Requests != calls || c.WireIn < int64(leastBytes) {
		return fmt.Errorf("the server saw %d requests in %d bytes, want %d in %d at least", c.Requests, c.WireIn, calls, leastBytes)
	}
	return f.exchange.Proven(c)
}
