package encode

import "postage/stage/encode/internal/bind"

type vtMessage[V any] interface {
	protoMessage[V]
	vtSized[V]
	UnmarshalVT([]byte) error
}

// vtprotobuf is PlanetScale's generated code for protobuf's wire format.
//
//encodegen:rows vtprotobuf codec=vtprotobuf: vtprotobuf(k.Protobuf), vtUnsafe(k.Protobuf)
func vtprotobuf[M, V any, P vtMessage[V]](form bind.Form[M, V]) contender[M] {
	return &codec[M, V]{
		name:     "codec=vtprotobuf",
		module:   "github.com/planetscale/vtprotobuf",
		form:     form,
		can:      []op{opEncode, opDecode},
		protobuf: true,
		damage:   damagePartly,
		loses:    "-0",
		utf8:     "kept",
		loops:    loops[M, V]{encode: vtEncode[M, V, P], decode: decodeBy[M, V](P.UnmarshalVT)},
	}
}

// vtUnsafe is vtprotobuf, with strings and bytes that are parts of the input.
func vtUnsafe[M, V any, P interface {
	vtMessage[V]
	UnmarshalVTUnsafe([]byte) error
}](form bind.Form[M, V]) contender[M] {
	c := vtprotobuf[M, V, P](form).(*codec[M, V])
	c.alias, c.can = true, []op{opDecode}
	c.loops.decode = decodeBy[M, V](P.UnmarshalVTUnsafe)
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
