package encode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"postage/lab"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// orderMessage is the order message as Suite makes it.
func orderMessage() *message[plain.Order] {
	k := bind.Order()
	msg := &message[plain.Order]{name: "order", draw: drawOrder, count: 8, diff: differences(k.Plain), read: k.Plain.Read}
	msg.marshal, msg.unmarshal, _ = reference(k.Protobuf)
	return msg
}

// honest is a codec for orders that passes. Each test breaks it in one place.
func honest() (*codec[plain.Order, plain.Order], *structCodec) {
	lib := &structCodec{
		encode: func(_ []byte, v any) ([]byte, error) { return json.Marshal(v) },
		decode: json.Unmarshal,
	}
	c := codec[plain.Order, plain.Order]{name: "codec=honest", can: []op{opEncode, opDecode}}
	open := func() (structCodec, error) { return *lib, nil }
	return ofStructs(bind.Order().Plain, c, open).(*codec[plain.Order, plain.Order]), lib
}

func prove(t *testing.T, c *codec[plain.Order, plain.Order], o op) error {
	t.Helper()
	in, err := c.rows(orderMessage(), o)[0].Open(context.Background(), lab.Env{Seed: 7})
	if err != nil {
		return err
	}
	return in.Prove(context.Background())
}

func TestProofPassesAnHonestCodec(t *testing.T) {
	for _, o := range []op{opEncode, opDecode, opValidate} {
		c, _ := honest()
		if err := prove(t, c, o); err != nil {
			t.Errorf("%s: %v", o, err)
		}
	}
}

func TestProofFailsAWrongCodec(t *testing.T) {
	var stale []byte
	for _, test := range []struct {
		name string
		op   op
		with func(*codec[plain.Order, plain.Order], *structCodec)
		want string // part of the error
	}{
		{"drops a field when decoding", opDecode, func(_ *codec[plain.Order, plain.Order], lib *structCodec) {
			lib.decode = func(data []byte, v any) error {
				err := json.Unmarshal(data, v)
				v.(*plain.Order).Items[3].UnitPrice.Currency = ""
				return err
			}
		}, `Order.Items[3].UnitPrice.Currency: got "", want`},
		{"drops a field when encoding", opEncode, func(_ *codec[plain.Order, plain.Order], lib *structCodec) {
			lib.encode = func(_ []byte, v any) ([]byte, error) {
				m := *v.(*plain.Order)
				m.Note = ""
				return json.Marshal(&m)
			}
		}, "Order.Note: got"},
		{"returns stale bytes", opEncode, func(_ *codec[plain.Order, plain.Order], lib *structCodec) {
			stale = nil
			lib.encode = func(_ []byte, v any) (_ []byte, err error) {
				if stale == nil {
					stale, err = json.Marshal(v)
				}
				return stale, err
			}
		}, "decode what was encoded"},
		{"decodes nothing", opDecode, func(_ *codec[plain.Order, plain.Order], lib *structCodec) {
			lib.decode = func([]byte, any) error { return nil }
		}, "decoded to something else"},
		{"merges into what was there", opReuse, func(c *codec[plain.Order, plain.Order], _ *structCodec) {
			c.can = append(c.can, opReuse)
		}, ", want nil"},
		{"does not read what it decodes", opDecode, func(c *codec[plain.Order, plain.Order], _ *structCodec) {
			c.form.Read = func(v, _ *plain.Order) (uint64, error) { return v.Serial, nil }
		}, "not every field was read"},
		{"finds nothing equal", opValidate, func(c *codec[plain.Order, plain.Order], _ *structCodec) {
			c.form.Same = func(_, _ *plain.Order) (uint64, error) { return 0, nil }
		}, "1 of 1 decoded messages differ"},
		{"panics on damaged input and says error", opDecode, func(_ *codec[plain.Order, plain.Order], lib *structCodec) {
			lib.decode = func(data []byte, v any) error {
				if err := json.Unmarshal(data, v); err != nil {
					panic("index out of range")
				}
				return nil
			}
		}, `corrupted-input is declared "error", but cut to 0 of`},
		{"accepts damaged input and says error", opDecode, func(_ *codec[plain.Order, plain.Order], lib *structCodec) {
			lib.decode = func(data []byte, v any) error {
				_ = json.Unmarshal(data, v)
				return nil
			}
		}, `bytes: accepted`},
		{"shares memory and does not say so", opDecode, func(_ *codec[plain.Order, plain.Order], lib *structCodec) {
			lib.decode = func(data []byte, v any) error {
				err := json.Unmarshal(data, v)
				m := v.(*plain.Order)
				if at := bytes.Index(data, []byte(m.Reference)); err == nil && at >= 0 {
					m.Reference = unsafe.String(&data[at], len(m.Reference))
				}
				return err
			}
		}, "must say alias=yes"},
		{"shares no memory and says so", opDecode, func(c *codec[plain.Order, plain.Order], _ *structCodec) {
			c.alias = true
		}, "must not say alias=yes"},
		{"speaks of protobuf's wire format and writes another", opEncode, func(c *codec[plain.Order, plain.Order], _ *structCodec) {
			c.protobuf = true
		}, "protobuf cannot decode it"},
		{"is another library under its name", opEncode, func(c *codec[plain.Order, plain.Order], _ *structCodec) {
			c.check = func() error { return errors.New("has fallen back to encoding/json") }
		}, "has fallen back"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, lib := honest()
			test.with(c, lib)
			err := prove(t, c, test.op)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("proof says %v, want %q", err, test.want)
			}
		})
	}
}

// With a corpus of one message, a codec that encodes only once is noticed only because its output
// is overwritten in between.
func TestProofOverwritesOutput(t *testing.T) {
	c, lib := honest()
	var once []byte
	lib.encode = func(_ []byte, v any) (_ []byte, err error) {
		if once == nil {
			once, err = json.Marshal(v)
		}
		return once, err
	}
	msg := orderMessage()
	msg.count = 1
	in, err := c.rows(msg, opEncode)[0].Open(context.Background(), lab.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Prove(context.Background()); err != nil {
		t.Fatalf("the first is fresh: %v", err)
	}
	if err := in.Prove(context.Background()); err == nil {
		t.Error("stale bytes pass")
	}
}

func TestRunFailsWhenValidationDoes(t *testing.T) {
	c, _ := honest()
	in, err := newInstance(c, orderMessage(), opValidate, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Run(16); err != nil {
		t.Fatal(err)
	}
	in.run.originals[5].Gift = !in.run.originals[5].Gift
	if err := in.Run(16); err == nil || !strings.Contains(err.Error(), "2 of 16") {
		t.Errorf("got %v, want 2 of 16 to differ", err)
	}
}
