package encode

import (
	"google.golang.org/protobuf/proto"

	"postage/stage/encode/internal/bind"
)

type protoMessage[V any] interface {
	*V
	proto.Message
	Reset()
}

// protobuf is Google's own library: MarshalAppend into a kept buffer, and Unmarshal. With
// deterministic, it writes maps in the order of their keys.
//
//encodegen:rows - codec=protobuf: protobuf(k.Protobuf, false), protobuf(k.Protobuf, true)
func protobuf[M, V any, P protoMessage[V]](form bind.Form[M, V], deterministic bool) contender[M] {
	c := &codec[M, V]{
		name:     "codec=protobuf",
		module:   "google.golang.org/protobuf",
		form:     form,
		can:      []op{opEncode, opDecode, opReuse},
		protobuf: true,
		damage:   damagePartly,
		utf8:     "error",
	}
	if deterministic {
		c.name += "/deterministic=yes"
		c.can = []op{opEncode}
	}
	options := proto.MarshalOptions{Deterministic: deterministic}
	c.loops = loops[M, V]{
		encode: func(r *run[M, V], n int) (err error) {
			for range n {
				if r.out, err = options.MarshalAppend(r.out[:0], P(r.value())); err != nil {
					return err
				}
			}
			return nil
		},
		decode: func(r *run[M, V], n int) error {
			for range n {
				if err := proto.Unmarshal(r.input(), P(r.into())); err != nil {
					return err
				}
				if err := r.took(); err != nil {
					return err
				}
			}
			return nil
		},
	}
	return c
}

// reference returns protobuf's own functions to and from bytes, with which codecs of its wire
// format are compared, and one that decodes bytes and encodes them again. Its bytes are the same in
// every process.
func reference[M, V any, P protoMessage[V]](form bind.Form[M, V]) (marshal func(*M) ([]byte, error), unmarshal func([]byte, *M) error, again func([]byte) ([]byte, error)) {
	options := proto.MarshalOptions{Deterministic: true}
	marshal = func(m *M) ([]byte, error) { return options.Marshal(P(form.From(m))) }
	unmarshal = func(data []byte, m *M) error {
		v := new(V)
		if err := proto.Unmarshal(data, P(v)); err != nil {
			return err
		}
		return form.To(v, m)
	}
	again = func(data []byte) ([]byte, error) {
		v := P(new(V))
		if err := proto.Unmarshal(data, v); err != nil {
			return nil, err
		}
		return options.Marshal(v)
	}
	return marshal, unmarshal, again
}
