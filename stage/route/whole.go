package route

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"postage/stage/encode"
	"postage/stage/store"
)

// openWhole opens a way from end to end.
func openWhole(ctx context.Context, w way, msgs int, open opener, seed uint64) (*instance, error) {
	sender, err := newClient(w, msgs, seed)
	if err != nil {
		return nil, err
	}
	in := &instance{least: leastOps(msgs)}
	if in.place, err = open(ctx, sender.orders); err != nil {
		return nil, err
	}
	c := config{Way: w, Msgs: msgs, Seed: seed}
	c.DSN, c.Table = in.place.Address()
	o := &order{client: sender, instance: in}
	if w == bare {
		c.Receipt, err = o.precompute()
	}
	if err == nil {
		err = in.start(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	in.does(o.send)
	in.prove = o.proof
	return in, nil
}

// order is what sends a way's requests.
type order struct {
	*client
	*instance
	fixed []byte // the floor's request, nil for those that are made each time
	sum   uint64 // of the request under way
	calls int64
}

// precompute makes the floor's request, and returns its receipt.
func (o *order) precompute() (receipt []byte, err error) {
	body, sum, err := o.request()
	if err != nil {
		return nil, err
	}
	o.fixed, o.sum = bytes.Clone(body), sum
	receipt, err = o.orders.EncodeReceipt(sum, o.msgs)
	return bytes.Clone(receipt), err
}

// send is an operation.
func (o *order) send() (err error) {
	o.calls++
	if o.fixed != nil {
		return o.far.exchange.Call(o.fixed, isReceipt)
	}
	body, sum, err := o.request()
	if err != nil {
		return err
	}
	if body, err = o.packed(body); err != nil {
		return err
	}
	o.sum = sum
	return o.far.exchange.Call(body, o.take)
}

func (o *order) take(receipt []byte) error { return o.check(receipt, o.sum) }

// isReceipt is all that a floor and the transport alone look at.
func isReceipt(receipt []byte) error {
	if len(receipt) == 0 {
		return errors.New("there is no receipt")
	}
	return nil
}

const wholeChecks = "the rows that a second reader finds in the store are the orders sent, every field of each as another decoder reads it; every receipt is of its request's orders; protocol, TLS 1.3 and the one kept connection are as the server saw them"

// proof sends every order of the corpus and looks at the store.
func (o *order) proof(ctx context.Context) error {
	requests, sent := (o.orders.Len()+o.msgs-1)/o.msgs, o.orders.Len()
	if o.fixed != nil {
		requests, sent = 3, o.msgs
	}
	rows, err := o.place.Stored(ctx, func() error { return o.Run(requests) })
	if err != nil {
		return err
	}
	if err := sameOrders(o.orders, rows, sent); err != nil {
		return err
	}
	if o.fixed != nil {
		o.calls++
		if err := o.far.exchange.Call(o.fixed, o.take); err != nil {
			return err
		}
	}
	return o.far.proven(o.calls, len(o.fixed)*requests)
}

// sameOrders compares rows of a store with the first orders of a corpus.
func sameOrders(orders *encode.Orders, rows []store.Row, sent int) error {
	found := make(map[int64]int, orders.Len())
	for i := range orders.Len() {
		found[int64(orders.Fields(i).Serial)] = i
	}
	stored := make([]bool, orders.Len())
	for _, row := range rows {
		i, ok := found[row.ID]
		if !ok {
			return fmt.Errorf("the store has a row %d, which is no order's serial", row.ID)
		}
		if len(row.Message) == 0 {
			continue // as the table was before
		}
		want := rowOf(orders.Fields(i), row.Message)
		if row.Text != want.Text || row.A != want.A || row.B != want.B {
			return fmt.Errorf("the store has %q, %d, %d of order %d, want %q, %d, %d", row.Text, row.A, row.B, row.ID, want.Text, want.A, want.B)
		}
		if err := orders.Differs(i, row.Message); err != nil {
			return fmt.Errorf("the store's order %d: %w", row.ID, err)
		}
		stored[i] = true
	}
	for i := range sent {
		if !stored[i] {
			return fmt.Errorf("order %d, with serial %d, is not in the store", i, orders.Fields(i).Serial)
		}
	}
	return nil
}
