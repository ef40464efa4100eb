package encode

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/plain"
)

// Orders is one codec at both ends of a service that takes orders and answers with receipts, for
// stages that send them. A receipt is the stage's tiny message. It is for one goroutine at a time.
type Orders struct {
	// Module is the path of the Go module that does the work, "" for the standard library.
	Module  string
	corpus  []plain.Order
	order   carrier[plain.Order]
	receipt carrier[plain.Tiny]
	again   carrier[plain.Order] // for the proof: what one has decoded must not help
	message message[plain.Order]
}

// Fields are what a service looks up an order by. Reference may share memory with the encoded
// order.
type Fields struct {
	Serial        uint64
	Reference     string
	CreatedUnixMs int64
	TotalMinor    int64
}

// OpenOrders opens a codec, by the name that its rows have, for orders drawn from the seed.
func OpenOrders(codec string, seed uint64) (*Orders, error) {
	order, tiny := ordersMessage(), message[plain.Tiny]{name: "tiny", draw: drawTiny, count: 1}
	o := &Orders{message: order}
	ofOrders, ofTiny := kitOfOrder(), kitOfTiny()
	ofOrders.describe(&o.message)
	ofTiny.describe(&tiny)
	o.corpus = o.message.corpus(seed)
	var err error
	if o.Module, o.order, err = openCarrier(contenders(ofOrders, &o.message), codec, o.corpus); err != nil {
		return nil, err
	}
	if _, o.again, err = openCarrier(contenders(ofOrders, &o.message), codec, o.corpus); err != nil {
		return nil, err
	}
	_, o.receipt, err = openCarrier(contenders(ofTiny, &tiny), codec, []plain.Tiny{drawTiny(rand.New(rand.NewPCG(seed, 0)))})
	return o, err
}

// Len is the number of orders, a power of two.
func (o *Orders) Len() int { return len(o.corpus) }

// Encode returns the i-th order's bytes, which the next call overwrites.
func (o *Orders) Encode(i int) ([]byte, error) { return o.order.encode(i) }

// Fields are the i-th order's.
func (o *Orders) Fields(i int) Fields { return plainFields(&o.corpus[i]) }

// Sum is the sum over every field of the i-th order that Decode returns for it.
func (o *Orders) Sum(i int) (uint64, error) { return o.message.read(&o.corpus[i], &o.corpus[i]) }

// Decode decodes an order into a fresh value and reads every field of it. sum is over them all.
func (o *Orders) Decode(data []byte) (f Fields, sum uint64, err error) {
	v, sum, err := o.order.decode(data)
	if err != nil {
		return f, 0, err
	}
	switch v := v.(type) {
	case *plain.Order:
		return plainFields(v), sum, nil
	case *pb.Order:
		return Fields{v.GetSerial(), v.GetReference(), v.GetCreatedUnixMs(), v.GetTotal().GetMinorUnits()}, sum, nil
	}
	return f, 0, fmt.Errorf("encode: a %T has no way to its fields", v)
}

func plainFields(m *plain.Order) Fields {
	return Fields{m.Serial, m.Reference, m.CreatedUnixMs, m.Total.MinorUnits}
}

// EncodeReceipt returns a receipt's bytes, which the next call overwrites.
func (o *Orders) EncodeReceipt(sum uint64, orders int) ([]byte, error) {
	o.receipt.set(0, plain.Tiny{Serial: sum, Value: float64(orders), Valid: true})
	return o.receipt.encode(0)
}

// CheckReceipt decodes a receipt and returns an error if it is not for these orders.
func (o *Orders) CheckReceipt(data []byte, sum uint64, orders int) error {
	v, _, err := o.receipt.decode(data)
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	var got plain.Tiny
	switch v := v.(type) {
	case *plain.Tiny:
		got = *v
	case *pb.Tiny:
		got = plain.Tiny{Serial: v.GetSerial(), Value: v.GetValue(), Valid: v.GetValid()}
	}
	if want := (plain.Tiny{Serial: sum, Value: float64(orders), Valid: true}); got != want {
		return fmt.Errorf("receipt: it is %+v, want %+v: a serial that is the sum over every field, and the number of orders", got, want)
	}
	return nil
}

// Differs returns what of the i-th order is not in these bytes, as another reader decodes them:
// protobuf, encoding/json, or, for other formats, the codec opened again.
func (o *Orders) Differs(i int, data []byte) error {
	var got plain.Order
	switch {
	case o.order.inProtobuf():
		if err := o.message.unmarshal(data, &got); err != nil {
			return err
		}
	case json.Valid(data):
		if err := json.Unmarshal(data, &got); err != nil {
			return err
		}
	default:
		if err := o.again.plain(data, &got); err != nil {
			return err
		}
	}
	if d := o.message.diff(&got, &o.corpus[i]); d != "" {
		return errors.New(d)
	}
	return nil
}

// OpenPacker opens a compression, by the name that its rows have. Both functions return memory that
// their next call overwrites; they are nil for the one that compresses nothing.
func OpenPacker(name string) (pack, unpack func(data []byte) ([]byte, error), err error) {
	for _, how := range compressions {
		if how.name != name || how.dictionary {
			continue
		}
		p, err := how.open(nil)
		if err != nil || p.pack == nil {
			return nil, nil, err
		}
		var wire, plain []byte
		return func(data []byte) (_ []byte, err error) { wire, err = p.pack(wire, data); return wire, err },
			func(data []byte) (_ []byte, err error) { plain, err = p.unpack(plain, data); return plain, err }, nil
	}
	return nil, nil, fmt.Errorf("encode: there is no compression %q", name)
}

// A carrier is an open codec that encodes and decodes one message at a time.
type carrier[M any] interface {
	encode(i int) ([]byte, error)
	set(i int, m M)
	decode(data []byte) (v any, sum uint64, err error)
	plain(data []byte, m *M) error
	inProtobuf() bool
}

func openCarrier[M any](from []contender[M], name string, messages []M) (module string, c carrier[M], err error) {
	for _, contender := range from {
		if contender.named() == name {
			return contender.carry(messages)
		}
	}
	return "", nil, fmt.Errorf("encode: there is no codec %q", name)
}

func (c *codec[M, V]) named() string { return c.name }

func (c *codec[M, V]) carry(messages []M) (module string, _ carrier[M], err error) {
	if c.check != nil {
		if err := c.check(); err != nil {
			return "", nil, err
		}
	}
	l, err := c.start()
	if err != nil {
		return "", nil, fmt.Errorf("encode: open %s: %w", c.name, err)
	}
	out := &carried[M, V]{codec: c, loops: l}
	out.out = run[M, V]{originals: messages, values: c.values(messages)}
	out.in = run[M, V]{originals: make([]M, 1), inputs: make([][]byte, 1), use: c.form.Read}
	return c.module, out, nil
}

type carried[M, V any] struct {
	codec   *codec[M, V]
	loops   loops[M, V]
	out, in run[M, V]
}

func (c *carried[M, V]) encode(i int) ([]byte, error) {
	c.out.next = i
	err := c.loops.encode(&c.out, 1)
	return c.out.out, err
}

func (c *carried[M, V]) set(i int, m M) {
	c.out.originals[i] = m
	if c.out.values != nil {
		c.out.values[i] = c.codec.form.From(&c.out.originals[i])
	}
}

func (c *carried[M, V]) decode(data []byte) (any, uint64, error) {
	before := c.in.sum
	c.in.next, c.in.inputs[0] = 0, data
	err := c.loops.decode(&c.in, 1)
	return c.in.last, c.in.sum - before, err
}

func (c *carried[M, V]) plain(data []byte, m *M) error {
	if _, _, err := c.decode(data); err != nil {
		return err
	}
	return c.codec.form.To(c.in.last, m)
}

func (c *carried[M, V]) inProtobuf() bool { return c.codec.protobuf }
