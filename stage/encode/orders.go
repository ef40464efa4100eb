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
