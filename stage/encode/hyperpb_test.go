package encode

import (
	"testing"

	"buf.build/go/hyperpb"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// A type that hyperpb v0.1.3 compiled again with a profile of the corpus decodes some orders to
// other values. If this fails, the profile is mended: give it a row.
func TestHyperpbWithProfile(t *testing.T) {
	k, msg := bind.Order(), orderMessage()
	msg.count = 256
	descriptor := k.Hyperpb.Descriptor()
	form := k.Hyperpb.Form(descriptor)
	wrong := func(message *hyperpb.MessageType, orders []plain.Order) (n int) {
		for i := range orders {
			data, err := msg.marshal(&orders[i])
			if err != nil {
				t.Fatal(err)
			}
			v := hyperpb.NewMessage(message)
			var got plain.Order
			if v.Unmarshal(data) != nil || form.To(v, &got) != nil || msg.diff(&got, &orders[i]) != "" {
				n++
			}
		}
		return n
	}
	orders := msg.corpus(1)
	message := hyperpb.CompileMessageDescriptor(descriptor)
	if n := wrong(message, orders); n != 0 {
		t.Fatalf("%d of %d orders are wrong without a profile", n, len(orders))
	}
	profile, shared := message.NewProfile(), new(hyperpb.Shared)
	for i := range orders {
		data, err := msg.marshal(&orders[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := shared.NewMessage(message).Unmarshal(data, hyperpb.WithRecordProfile(profile, 1)); err != nil {
			t.Fatal(err)
		}
		shared.Free()
	}
	n := wrong(message.Recompile(profile), orders)
	t.Logf("%d of %d orders are wrong with a profile", n, len(orders))
	if n == 0 {
		t.Error("none is")
	}
}
