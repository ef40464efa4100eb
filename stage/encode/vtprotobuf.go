package encode

import "postage/stage/encode/internal/bind"

type vtMessage[V any] interface {
	protoMessage[V]
	vtSized[V]
	UnmarshalVT([]byte) error
	UnmarshalVTUnsafe([]byte) error
}

// vtprotobuf is PlanetScale's generated code for protobuf's wire format. With unsafe, the strings
// and bytes that it decodes are parts of the input.
//
//encodegen:rows vtprotobuf codec=vtprotobuf: vtprotobuf(k.Protobuf, false), vtprotobuf(k.Protobuf, true)
func vtprotobuf[M, V any, P vtMessage[V]](form bind.Form[M, V], unsafe bool) contender[M] {
	c := &codec[M, V]{
		name:     "codec=vtprotobuf",
		module:   "github.com/planetscale/vtprotobuf",
		form:     form,
		can:      []op{opEncode, opDecode},
		protobuf: true,
		damage:   damagePartly,
		loses:    "-0",
		utf8:     "kept",
	}
	unmarshal := P.UnmarshalVT
	if unsafe {
		c.alias, c.can = true, []op{opDecode}
		unmarshal = P.UnmarshalVTUnsafe
	}
	c.loops = loops[M, V]{
		encode: vtEncode[M, V, P],
		decode: decodeBy[M, V](unmarshal),
	}
	return c
}

// vtSized has the methods by which vtprotobuf encodes.
type vtSized[V any] interface {
	*V
	SizeVT() int
	MarshalToSizedBufferVT([]byte) (int, error)
}

// vtEncode encodes into a kept buffer, as vtprotobuf's own codec for gRPC does.
func vtEncode[M, V any, P vtSized[V]](r *run[M, V], n int) error {
	for range n {
		v := P(r.value())
		r.out = r.room(v.SizeVT())
		if _, err := v.MarshalToSizedBufferVT(r.out); err != nil {
			return err
		}
	}
	return nil
}
