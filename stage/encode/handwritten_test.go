package encode

import (
	"testing"

	"pgregory.net/rapid"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/plain"
)

func TestHandwrittenAgreesWithProtobuf(t *testing.T) {
	marshal, _, _ := reference(bind.Order().Protobuf)
	checkProperty(t, func(t *rapid.T) {
		m := anyOrder(t)
		data, err := marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		decodedByHand(t, data, &m)
	})
}

// decodedByHand decodes an order by hand, and compares it with the order that is wanted.
func decodedByHand(t rapid.TB, data []byte, want *plain.Order) {
	k := bind.Order()
	var message pb.Order
	if err := orderDecode(&message, data); err != nil {
		t.Fatal(err)
	}
	var got plain.Order
	if err := k.Protobuf.To(&message, &got); err != nil {
		t.Fatal(err)
	}
	if d := differences(k.Plain)(&got, want); d != "" {
		t.Fatalf("decoded to something else than protobuf: %s", d)
	}
}

// The decoder accepts what protobuf accepts, and decodes it to the same message.
func FuzzHandwrittenDecode(f *testing.F) {
	marshal, unmarshal, _ := reference(bind.Order().Protobuf)
	data, err := marshal(&orderMessage().corpus(1)[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	f.Add([]byte("\xd0\xd0\xd0\xd00\xd0\xd00")) // a field number out of range
	for _, bad := range damaged(data) {
		f.Add(bad.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want plain.Order
		if err := unmarshal(data, &want); err == nil {
			decodedByHand(t, data, &want)
		} else if err2 := orderDecode(new(pb.Order), data); err2 == nil {
			t.Fatalf("no error, protobuf has %v", err)
		}
	})
}
