package send

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postage/internal/service/greeter"
	"postage/internal/service/greeter/hello"
	"postage/internal/service/greeter/wire"
	"postage/internal/service/tlscert"
	"postage/lab"
	"postage/stage/internal/lanes"
)

// An instance is a transport at work on one spec, with its server.
type instance struct {
	transport *transport
	spec      spec
	server    *greeter.Process
	network   *Network // nil over loopback
	lanes     []lane
	*lanes.Lanes
	targets []*target // of the clients
	clients []client  // none between two pages
	seen    handshakes
	done    done
	ended   time.Time // the last batch
}

// done is what an instance has done, for comparison with what the server has seen.
type done struct {
	begun   int64            // operations ever begun
	last    greeter.Counters // when Counters was called last
	counted int64            // operations at that time
	// replaced is how many connections were opened in the proof or between batches in place of
	// those that were given up, or had been idle for too long.
	replaced int64
}

var (
	_ lab.Instance    = (*instance)(nil)
	_ lab.Counted     = (*instance)(nil)
	_ lab.Prepared    = (*instance)(nil)
	_ lab.Distributed = (*instance)(nil)
)

// newInstance starts the server and opens the clients.
func newInstance(ctx context.Context, t *transport, s spec, seed uint64) (*instance, error) {
	pair, err := certificate(&s)
	if err != nil {
		return nil, err
	}
	return openInstance(ctx, t, s, seed, t.serverConfig(&s, pair), pair)
}

func certificate(s *spec) (*tlscert.Pair, error) {
	if !s.tls {
		return nil, nil
	}
	return tlscert.New(s.cert)
}

func openInstance(ctx context.Context, t *transport, s spec, seed uint64, config greeter.Config, pair *tlscert.Pair) (*instance, error) {
	in := &instance{transport: t, spec: s}
	var err error
	if in.network, err = OpenNetwork(ctx); err != nil {
		return nil, err
	}
	config.Place = in.network.Server()
	if in.server, err = greeter.Start(ctx, config); err != nil {
		return nil, errors.Join(err, in.network.Close())
	}
	if err := in.connect(ctx, in.server.Addr, seed, pair); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// connect opens the clients and distributes them among the lanes.
func (in *instance) connect(ctx context.Context, addr string, seed uint64, pair *tlscert.Pair) error {
	s := &in.spec
	lost, lose := context.WithCancel(context.Background())
	go func() {
		<-in.server.Done()
		lose()
	}()
	for range s.clients() {
		t := &target{ctx: context.WithoutCancel(ctx), lost: lost, addr: addr, place: in.network.near(), spec: s, wire: new(wire.Count)}
		if s.tls {
			t.tls = clientTLS(pair, s.resume, &in.seen)
		}
		in.targets = append(in.targets, t)
	}
	in.prepare(seed)
	in.Lanes = lanes.New(s.lanes(), in.call)
	for _, t := range in.targets {
		c, err := in.transport.open(t)
		if err != nil {
			return fmt.Errorf("open a client: %w", err)
		}
		in.clients = append(in.clients, c)
	}
	for i := range in.lanes {
		in.lanes[i].client = in.clients[i%len(in.clients)]
	}
	return nil
}

// prepare makes the lanes: what each asks for, and what it should get.
func (in *instance) prepare(seed uint64) {
	s := &in.spec
	request := &hello.Request{Secure: s.secure, Payload: hello.Filling(s.size, seed)}
	want := hello.Greeting(request, in.transport.version).Response
	if in.transport.unnamed {
		want = hello.Greeting(request, "").Response
	}
	payload := request.Payload
	if s.answer != 0 {
		payload = hello.Filling(s.answer, 0)
	}
	in.lanes = make([]lane, s.lanes())
	for i := range in.lanes {
		in.lanes[i] = lane{request: request, want: want, payload: payload}
	}
}

// call does an operation on the lane of that number.
func (in *instance) call(i int) error { return in.lanes[i].client.call(&in.lanes[i]) }

// Prepare replaces idle connections that the client has given up, before a batch.
func (in *instance) Prepare() error {
	if in.transport.idle == 0 || !in.spec.reuse || time.Since(in.ended) < in.transport.idle/2 {
		return nil
	}
	if err := in.warm(); err != nil {
		return err
	}
	c, err := in.server.Counters()
	if err != nil {
		return err
	}
	in.done.replaced = c.Conns - int64(len(in.clients))
	return nil
}

// Run does n operations, as many at a time as there are lanes.
func (in *instance) Run(n int) error {
	in.done.begun += int64(n)
	defer func() { in.ended = time.Now() }()
	return in.explain(in.Lanes.Run(n))
}

// MinOps returns how many operations a batch should have at least. With only a few for each lane,
// some lanes would be idle for much of the batch. Over a network a batch is one for each, all at
// once.
func (in *instance) MinOps() int {
	if in.network != nil {
		return in.spec.lanes()
	}
	return 4 * len(in.lanes)
}

func (in *instance) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("send: %s: %w", in.transport.name, in.server.Explain(err))
}

// Close ends the clients and the server.
func (in *instance) Close() error {
	return errors.Join(in.closeClients(), in.server.Close(), in.network.Close())
}

func (in *instance) closeClients() error {
	var errs []error
	for _, c := range in.clients {
		errs = append(errs, c.close())
	}
	in.clients = nil
	return errors.Join(errs...)
}
