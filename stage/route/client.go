package route

import (
	"context"
	"errors"
	"fmt"

	"postage/internal/service/greeter"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
	"postage/stage/encode"
	"postage/stage/internal/lanes"
	"postage/stage/send"
	"postage/stage/store"
)

// databaseCPU is the CPU time of the database's processes for the server's connection.
const databaseCPU = "database-cpu-ns/op"

// An instance is an open row: the client, with a kept connection to a server in a process of its
// own, and the place where that stores rows.
type instance struct {
	*lanes.Lanes
	end      *end
	server   *proc.Child
	exchange *send.Exchange
	network  *send.Network // nil over loopback
	place    *store.Place  // nil where nothing is stored
	backend  int           // the database's process
	sum      uint64        // of the request under way
	proving  bool
	bytes    int // sent in the proof
}

var (
	_ lab.Instance    = (*instance)(nil)
	_ lab.Counted     = (*instance)(nil)
	_ lab.Prepared    = (*instance)(nil)
	_ lab.Distributed = (*instance)(nil)
	_ lab.Sized       = (*instance)(nil)
)

func open(ctx context.Context, traffic encode.Traffic, w work, place opener) (*instance, error) {
	e, err := newEnd(traffic, w)
	if err != nil {
		return nil, err
	}
	in := &instance{end: e}
	in.Lanes = lanes.New(1, func(int) error { return in.send() })
	if err := in.start(ctx, place); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// start opens the place, starts the server and connects to it.
func (in *instance) start(ctx context.Context, place opener) (err error) {
	c := config{work: in.end.work}
	if in.end.work.does(stepStore) {
		if in.place, err = place(ctx, in.end.messages); err != nil {
			return err
		}
		c.Store = in.place.Address()
	}
	if in.network, err = send.OpenNetwork(ctx); err != nil {
		return err
	}
	p, err := send.NewProtocol(in.end.work.Way.Proto)
	if err != nil {
		return err
	}
	c.Listen = p.Server
	c.Listen.Place = in.network.Server()
	var at ready
	if in.server, err = proc.StartServer(ctx, serverName, c, &at); err != nil {
		return err
	}
	in.backend = at.Backend
	in.exchange, err = p.Dial(ctx, in.network, at.Addr, in.server.Done())
	return err
}

// send is an operation.
func (in *instance) send() (err error) {
	r := in.end.beforehand()
	var body []byte
	if in.end.work.does(stepEncode) {
		if body, in.sum, err = in.end.encode(); err != nil {
			return err
		}
		if in.proving && r != nil {
			if err := in.encoded(body); err != nil {
				return err
			}
		}
	}
	if r != nil {
		body, in.sum = r.body, r.sum
	}
	switch {
	case in.end.pack == nil:
	case in.end.work.does(stepPack) || in.end.work.does(stepSeal):
		if body, err = in.end.pack(body); err != nil {
			return err
		}
	default:
		body = r.wire
	}
	if in.proving {
		in.bytes += len(body)
	}
	return in.exchange.Call(body, in.take)
}

// take looks at a receipt.
func (in *instance) take(receipt []byte) error {
	if in.end.work.does(stepDecode) || in.proving {
		return in.end.messages.CheckReceipt(receipt, in.sum, in.end.work.Msgs)
	}
	if len(receipt) == 0 {
		return errors.New("there is no receipt")
	}
	return nil
}

// encoded proves that a request has its messages, where no server sees it.
func (in *instance) encoded(body []byte) error {
	sum, err := in.end.decode(body)
	if err != nil {
		return err
	}
	if sum != in.sum {
		return fmt.Errorf("the request's fields sum up to %d, want %d", sum, in.sum)
	}
	return nil
}

const wholeChecks = "the rows that a second reader finds in the store are the messages sent, every field of each as another decoder reads it; every receipt is of its request's messages; protocol, TLS 1.3 and the one kept connection are as the server saw them"

// Prove sends every message of the corpus and looks at the store.
func (in *instance) Prove(ctx context.Context) error {
	in.proving = true
	defer func() { in.proving = false }()
	requests, stored := (in.end.messages.Len()+in.end.work.Msgs-1)/in.end.work.Msgs, in.end.messages.Len()
	if in.network != nil { // over loopback all are sent
		requests, stored = min(requests, manyOverNetwork), min(stored, manyOverNetwork*in.end.work.Msgs)
	}
	if in.end.work.Way.Call == floorName {
		requests, stored = 3, in.end.work.Msgs // those that its call writes
	}
	if in.place == nil {
		if err := in.Run(requests); err != nil {
			return err
		}
	} else {
		rows, err := in.place.Stored(ctx, func() error { return in.Run(requests) })
		if err != nil {
			return err
		}
		if err := sameMessages(in.end.messages, rows, stored); err != nil {
			return err
		}
	}
	c, err := in.seen()
	if err != nil {
		return err
	}
	if c.Requests != in.end.calls || c.WireIn < int64(in.bytes) {
		return fmt.Errorf("the server saw %d requests in %d bytes, want %d in %d at least", c.Requests, c.WireIn, in.end.calls, in.bytes)
	}
	return in.exchange.Proven(in.seen, func() error { return errors.Join(in.Prepare(), in.Run(requests)) })
}

// sameMessages compares rows of a store with the first messages of a corpus.
func sameMessages(messages encode.Messages, rows [][]any, sent int) error {
	found := make(map[int64]int, messages.Len())
	for i := range messages.Len() {
		found[messages.Key(i)] = i
	}
	stored := make([]bool, messages.Len())
	for _, row := range rows {
		key, _ := row[0].(int64)
		i, ok := found[key]
		if !ok {
			return fmt.Errorf("the store has a row %v, which is no message's key", row[0])
		}
		if row[len(row)-1] == nil {
			continue // as the table was before
		}
		if err := messages.Differs(i, row); err != nil {
			return fmt.Errorf("the store's message %d: %w", key, err)
		}
		stored[i] = true
	}
	for i := range sent {
		if !stored[i] {
			return fmt.Errorf("message %d, with key %d, is not in the store", i, messages.Key(i))
		}
	}
	return nil
}

func (in *instance) seen() (c greeter.Counters, err error) {
	err = in.server.Ask("counters", &c)
	return c, err
}

func (in *instance) Run(n int) error {
	if err := in.Lanes.Run(n); err != nil {
		return fmt.Errorf("route: %w", in.server.Explain(err))
	}
	return nil
}

// MinOps is how many operations a batch has at least, unless they are large. The server counts what
// asking it costs, once a batch.
func (in *instance) MinOps() int {
	if in.network != nil {
		return max(1, manyOverNetwork/in.end.work.Msgs)
	}
	return max(1, min(max(8, 100/in.end.work.Msgs), largestRequest/max(1, in.end.work.Msgs*in.end.messages.Bytes())))
}

// manyOverNetwork is how many operations of one message a batch has, and a proof, where each takes
// a round trip.
const manyOverNetwork = 8

func (in *instance) Prepare() error {
	if in.place == nil {
		return nil
	}
	return in.place.Prepare()
}

func (in *instance) Counters() (map[string]float64, error) {
	c, err := in.seen()
	if err != nil {
		return nil, err
	}
	out, received := in.exchange.Wire()
	m := map[string]float64{record.WireOut: float64(out), record.WireIn: float64(received),
		"server-allocs/op": float64(c.Allocs), "server-B/op": float64(c.Bytes)}
	if c.CPUNS >= 0 {
		m[record.ServerCPU] = float64(c.CPUNS)
	}
	if in.place != nil {
		cpu, known, err := in.place.BackendCPU(in.backend)
		if err != nil {
			return nil, err
		}
		if known {
			m[databaseCPU] = float64(cpu)
		}
	}
	return m, in.network.Counters(m)
}

func (in *instance) Close() error {
	var errs []error
	if in.exchange != nil {
		errs = append(errs, in.exchange.Close())
	}
	if in.server != nil {
		errs = append(errs, in.server.Close())
	}
	if in.place != nil {
		errs = append(errs, in.place.Close())
	}
	return errors.Join(append(errs, in.network.Close())...)
}
