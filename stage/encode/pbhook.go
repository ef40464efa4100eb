package encode

import (
	"postage/pbfast"
	"postage/stage/encode/internal/bind"
)

// pbFastHook calls protobuf as usual, with proto.MarshalAppend and proto.Unmarshal, on messages for
// which these use pbfast's methods.
//
//encodegen:rows pbhook codec=pbfast/hook=yes: pbFastHook(k.Hooked)
func pbFastHook[M, V any, P protoMessage[V]](form bind.Form[M, V]) contender[M] {
	c := protobuf[M, V, P](form, false).(*codec[M, V])
	c.name, c.module, c.can = "codec=pbfast/hook=yes", "postage/pbfast", []op{opEncode, opDecode}
	c.check = func() error { return pbfast.HookError(P(new(V)).ProtoReflect().Interface()) }
	return c
}
