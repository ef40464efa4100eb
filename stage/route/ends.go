package route

import (
	"encoding/binary"
	"errors"
	"fmt"

	"postage/stage/encode"
	"postage/stage/store"
)

// A client makes requests of the corpus's orders, one after the other, and checks the receipts.
type client struct {
	orders *encode.Orders
	pack   func([]byte) ([]byte, error) // nil for none
	msgs   int
	sums   []uint64 // over every field of each order
	next   int
	frames []byte
}

func newClient(w way, msgs int, seed uint64) (*client, error) {
	orders, err := encode.OpenOrders(w.Codec, seed)
	if err != nil {
		return nil, err
	}
	c := &client{orders: orders, msgs: msgs}
	if c.pack, _, err = encode.OpenPacker(w.Pack); err != nil {
		return nil, err
	}
	for i := range orders.Len() {
		sum, err := orders.Sum(i)
		if err != nil {
			return nil, err
		}
		c.sums = append(c.sums, sum)
	}
	return c, nil
}

// request is the next one before it is compressed: an order, or several with their lengths before
// them. sum is over every field of them. The next call overwrites it.
func (c *client) request() (body []byte, sum uint64, err error) {
	c.frames = c.frames[:0]
	for range c.msgs {
		i := c.next & (c.orders.Len() - 1)
		c.next++
		sum += c.sums[i]
		data, err := c.orders.Encode(i)
		if err != nil {
			return nil, 0, err
		}
		if c.msgs == 1 {
			return data, sum, nil
		}
		c.frames = binary.BigEndian.AppendUint32(c.frames, uint32(len(data)))
		c.frames = append(c.frames, data...)
	}
	return c.frames, sum, nil
}

// packed is what is sent for a request.
func (c *client) packed(body []byte) ([]byte, error) {
	if c.pack == nil {
		return body, nil
	}
	return c.pack(body)
}

// check decodes a receipt.
func (c *client) check(receipt []byte, sum uint64) error {
	return c.orders.CheckReceipt(receipt, sum, c.msgs)
}

// A receiver is the server's part of a way, but for the protocol and for storing.
type receiver struct {
	orders *encode.Orders
	unpack func([]byte) ([]byte, error) // nil for none
	msgs   int
	rows   [][]any // of the last request
}

func newReceiver(w way, msgs int, seed uint64) (*receiver, error) {
	orders, err := encode.OpenOrders(w.Codec, seed)
	if err != nil {
		return nil, err
	}
	r := &receiver{orders: orders, msgs: msgs}
	if _, r.unpack, err = encode.OpenPacker(w.Pack); err != nil {
		return nil, err
	}
	for range msgs {
		r.rows = append(r.rows, (&store.Row{}).Values())
	}
	return r, nil
}

// decode decodes a request's orders, reads every field, and makes a row of each. The rows are good
// until the next call, and share memory with the body. sum is over every field.
func (r *receiver) decode(body []byte) (sum uint64, err error) {
	for i := range r.msgs {
		data := body
		if r.msgs > 1 {
			if len(body) < 4 || uint64(len(body)-4) < uint64(binary.BigEndian.Uint32(body)) {
				return 0, fmt.Errorf("the request ends in order %d of %d", i+1, r.msgs)
			}
			end := 4 + binary.BigEndian.Uint32(body)
			data, body = body[4:end], body[end:]
		}
		fields, one, err := r.orders.Decode(data)
		if err != nil {
			return 0, fmt.Errorf("order %d of the request: %w", i+1, err)
		}
		sum += one
		row := rowOf(fields, data)
		copy(r.rows[i], row.Values())
	}
	if r.msgs > 1 && len(body) > 0 {
		return 0, errors.New("the request has more than its orders")
	}
	return sum, nil
}

// rowOf is the row that an order is stored as: what it is looked up by, and its bytes.
func rowOf(f encode.Fields, data []byte) store.Row {
	return store.Row{ID: int64(f.Serial), Text: f.Reference, A: f.CreatedUnixMs, B: f.TotalMinor, Message: data}
}
