package encode

import "postage/stage/encode/internal/bind"

// protobufOpaque is protobuf with the opaque API: messages have methods in place of fields, and a
// bit for each field says whether it is set.
//
//encodegen:rows pbopaque codec=protobuf/api=opaque: protobufOpaque(k.Opaque), pbFastOpaque(k.Opaque)
func protobufOpaque[M, V any, P protoMessage[V]](form bind.Form[M, V]) contender[M] {
	c := protobuf[M, V, P](form, false).(*codec[M, V])
	c.name += "/api=opaque"
	return c
}

// pbFastOpaque is pbfast's methods on such messages.
func pbFastOpaque[M, V any, P interface {
	protoMessage[V]
	MarshalAppend([]byte) ([]byte, error)
	Unmarshal([]byte) error
}](form bind.Form[M, V]) contender[M] {
	c := protobuf[M, V, P](form, false).(*codec[M, V])
	c.name, c.module, c.can = "codec=pbfast/api=opaque", "postage/pbfast", []op{opEncode, opDecode}
	c.loops = loops[M, V]{
		encode: encodeBy[M](func(buf []byte, v P) ([]byte, error) { return v.MarshalAppend(buf) }),
		decode: decodeBy[M, V](P.Unmarshal),
	}
	return c
}
