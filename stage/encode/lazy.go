package encode

import "postage/stage/encode/internal/bind"

// protobufLazy is protobuf with the opaque API, where every field that holds messages is marked
// [lazy = true]. Decoding checks such a field's bytes and keeps them; the first use decodes them.
//
//encodegen:rows pblazy codec=protobuf/api=opaque/lazy=yes: protobufLazy(k.Lazy)
func protobufLazy[M, V any, P protoMessage[V]](form bind.Form[M, V]) contender[M] {
	c := protobuf[M, V, P](form, false).(*codec[M, V])
	c.name += "/api=opaque/lazy=yes"
	c.can = []op{opEncode, opDecode}
	return c
}
