package encode

import (
	"fmt"
	"math/rand/v2"

	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/pbhook"
	"postage/stage/encode/internal/plain"
)

// Orders are the stage's orders. A receipt is the stage's tiny message, by the same codec.
func Orders() Traffic {
	return Traffic{One: "an order", Many: "orders", Codecs: families, Usual: "codec=json", Best: "codec=pbfast", Open: openOrders}
}

// An orderMail carries orders.
type orderMail struct {
	*mail[plain.Order]
	receipt carrier[plain.Tiny]
}

func openOrders(codec, column string, seed uint64) (Messages, error) {
	order, tiny := ordersMessage(), message[plain.Tiny]{name: "tiny", draw: drawTiny, count: 1}
	ofOrders, ofTiny := kitOfOrder(), kitOfTiny()
	ofOrders.describe(&order)
	ofTiny.describe(&tiny)
	m, err := openMail(&order, contenders(ofOrders, &order), codec, seed, layout{types: []string{"int8", "text", "int8", "int8", column}, row: orderRow})
	if err != nil {
		return nil, err
	}
	receipt, err := openCarrier(contenders(ofTiny, &tiny), codec, []plain.Tiny{drawTiny(rand.New(rand.NewPCG(seed, 0)))})
	return &orderMail{m, receipt}, err
}

// orderRow sets a row: the fields by which a service looks up an order, and the order.
func orderRow(_ int, v any, data []byte, row []any) error {
	switch v := v.(type) {
	case *plain.Order:
		row[0], row[1], row[2], row[3] = int64(v.Serial), v.Reference, v.CreatedUnixMs, v.Total.MinorUnits
	case *pb.Order:
		row[0], row[1], row[2], row[3] = int64(v.GetSerial()), v.GetReference(), v.GetCreatedUnixMs(), v.GetTotal().GetMinorUnits()
	case *pbhook.Order:
		row[0], row[1], row[2], row[3] = int64(v.GetSerial()), v.GetReference(), v.GetCreatedUnixMs(), v.GetTotal().GetMinorUnits()
	default:
		return fmt.Errorf("encode: a %T has no way to its fields", v)
	}
	row[4] = data
	return nil
}

func (o *orderMail) EncodeReceipt(sum uint64, orders int) ([]byte, error) {
	o.receipt.set(0, plain.Tiny{Serial: sum, Value: float64(orders), Valid: true})
	return o.receipt.encode(0)
}

func (o *orderMail) CheckReceipt(data []byte, sum uint64, orders int) error {
	v, _, err := o.receipt.decode(data)
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	var got plain.Tiny
	switch v := v.(type) {
	case *plain.Tiny:
		got = *v
	case interface { // protobuf's and pbfast's
		GetSerial() uint64
		GetValue() float64
		GetValid() bool
	}:
		got = plain.Tiny{Serial: v.GetSerial(), Value: v.GetValue(), Valid: v.GetValid()}
	}
	if want := (plain.Tiny{Serial: sum, Value: float64(orders), Valid: true}); got != want {
		return fmt.Errorf("receipt: it is %+v, want %+v: a serial that is the sum over every field, and the number of orders", got, want)
	}
	return nil
}
