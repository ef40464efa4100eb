package route

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"postage/stage/store"
)

// A part does one step of a way alone, with everything else made beforehand.
type part struct {
	*instance
	sender   *client
	server   *receiver
	requests []request
	next     int
	do       func(r *request) error
	// look, if set, is called in the proof after each request.
	look func(r *request) error
}

// request is one that was made beforehand, with its receipt and its orders' rows.
type request struct {
	body, wire, receipt []byte
	sum                 uint64
	rows                [][]any
}

// openPart opens a step of a way.
func openPart(ctx context.Context, w way, s step, msgs int, open opener, seed uint64) (*instance, error) {
	p := &part{instance: &instance{least: leastOps(msgs)}}
	var err error
	if p.sender, err = newClient(w, msgs, seed); err != nil {
		return nil, err
	}
	if p.server, err = newReceiver(w, msgs, seed); err != nil {
		return nil, err
	}
	if err := p.make(); err != nil {
		return nil, err
	}
	p.does(p.one)
	p.prove = p.each
	switch s {
	case stepEncode:
		p.encode()
	case stepDecode:
		p.decode()
	case stepPack:
		p.packing()
	case stepTransport:
		err = p.transport(ctx, w)
	case stepStore:
		err = p.store(ctx, w, open, seed)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p.instance, nil
}

// one is an operation.
func (p *part) one() error {
	r := &p.requests[p.next]
	if p.next++; p.next == len(p.requests) {
		p.next = 0
	}
	return p.do(r)
}

// each proves every request.
func (p *part) each(context.Context) error {
	for i := range p.requests {
		if err := p.Run(1); err != nil {
			return err
		}
		if p.look == nil {
			continue
		}
		if err := p.look(&p.requests[i]); err != nil {
			return err
		}
	}
	return nil
}

// make makes the requests: together they have every order at least once.
func (p *part) make() error {
	for range max(8, p.sender.orders.Len()/p.sender.msgs) {
		body, sum, err := p.sender.request()
		if err != nil {
			return err
		}
		r := request{body: bytes.Clone(body), sum: sum}
		wire, err := p.sender.packed(r.body)
		if err != nil {
			return err
		}
		r.wire = bytes.Clone(wire)
		receipt, err := p.sender.orders.EncodeReceipt(sum, p.sender.msgs)
		if err != nil {
			return err
		}
		r.receipt = bytes.Clone(receipt)
		if _, err := p.server.decode(r.body); err != nil {
			return err
		}
		for _, row := range p.server.rows {
			r.rows = append(r.rows, slices.Clone(row))
		}
		p.requests = append(p.requests, r)
	}
	p.sender.next = 0
	return nil
}

// encode encodes the request, as a client does, and the receipt, as the server does.
func (p *part) encode() {
	var body, receipt []byte
	p.do = func(*request) (err error) {
		var sum uint64
		if body, sum, err = p.sender.request(); err != nil {
			return err
		}
		receipt, err = p.server.orders.EncodeReceipt(sum, p.sender.msgs)
		return err
	}
	p.look = func(r *request) error {
		sum, err := p.server.decode(body)
		if err == nil && sum != r.sum {
			err = fmt.Errorf("the request's fields sum up to %d, want %d", sum, r.sum)
		}
		if err != nil {
			return err
		}
		if err := p.sender.check(receipt, r.sum); err != nil {
			return err
		}
		return sameOrders(p.sender.orders, rowsOf(p.server.rows), 0)
	}
}

// decode decodes the request, reads every field and makes rows, as the server does, and decodes
// the receipt, as the client does.
func (p *part) decode() {
	p.do = func(r *request) error {
		sum, err := p.server.decode(r.body)
		if err != nil {
			return err
		}
		if sum != r.sum {
			return fmt.Errorf("fields read sum up to %d, want %d", sum, r.sum)
		}
		return p.sender.check(r.receipt, r.sum)
	}
	p.look = func(*request) error { return sameOrders(p.sender.orders, rowsOf(p.server.rows), 0) }
}

// packing compresses and decompresses.
func (p *part) packing() {
	p.do = func(r *request) error {
		wire, err := p.sender.packed(r.body)
		if err != nil {
			return err
		}
		back, err := p.server.unpack(wire)
		if err == nil && !bytes.Equal(back, r.body) {
			err = errors.New("what was unpacked is not what was packed")
		}
		return err
	}
}

// transport sends bytes that are ready to a server that answers with bytes that are ready.
func (p *part) transport(ctx context.Context, w way) error {
	receipt := p.requests[0].receipt
	if err := p.start(ctx, config{Way: w, Receipt: receipt}); err != nil {
		return err
	}
	calls, least := int64(0), 0
	p.do = func(r *request) error {
		calls++
		return p.far.exchange.Call(r.wire, isReceipt)
	}
	p.look = func(r *request) error {
		calls++
		least += 2 * len(r.wire)
		return p.far.exchange.Call(r.wire, func(answer []byte) error {
			if !bytes.Equal(answer, receipt) {
				return errors.New("the answer is not the one that was prepared")
			}
			return nil
		})
	}
	p.prove = func(ctx context.Context) error {
		if err := p.each(ctx); err != nil {
			return err
		}
		return p.far.proven(calls, least)
	}
	return nil
}

// store stores rows that are ready.
func (p *part) store(ctx context.Context, w way, open opener, seed uint64) (err error) {
	if p.place, err = open(ctx, p.sender.orders); err != nil {
		return err
	}
	dsn, table := p.place.Address()
	if p.call, err = openCall(w, p.sender.msgs, seed, dsn, table); err != nil {
		return err
	}
	p.backends = p.call.Backends()
	p.do = func(r *request) error { return p.call.Write(r.rows) }
	p.prove = func(ctx context.Context) error {
		rows, err := p.place.Stored(ctx, func() error { return p.Run(len(p.requests)) })
		if err != nil {
			return err
		}
		return sameOrders(p.sender.orders, rows, p.sender.orders.Len())
	}
	return nil
}

// rowsOf are rows as the store takes them.
func rowsOf(values [][]any) (rows []store.Row) {
	for _, v := range values {
		rows = append(rows, store.Row{ID: v[0].(int64), Text: v[1].(string), A: v[2].(int64), B: v[3].(int64), Message: v[4].([]byte)})
	}
	return rows
}
