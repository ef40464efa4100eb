package encode

import (
	"github.com/VictoriaMetrics/easyproto"

	"postage/stage/encode/internal/bind"
)

// easyProto is VictoriaMetrics' easyproto: protobuf's wire format with hand-written functions on a
// plain struct. Its README shows strings that are left in the input (alias), and how to copy them.
//
//encodegen:rows easyproto codec=easyproto: easyProto(k.Plain, k.Easyproto, false), easyProto(k.Plain, k.Easyproto, true)
func easyProto[M any](plain bind.Form[M, M], code bind.Easyproto[M], alias bool) contender[M] {
	c := &codec[M, M]{
		name:     "codec=easyproto",
		module:   "github.com/VictoriaMetrics/easyproto",
		form:     plain,
		can:      []op{opEncode, opDecode, opReuse},
		protobuf: true,
		damage:   damagePartly,
		loses:    "negative int32",
		utf8:     "kept",
	}
	unmarshal := code.Unmarshal
	if alias {
		c.alias, c.can = true, []op{opDecode, opReuse}
		unmarshal = code.UnmarshalAlias
	}
	c.open = func() (loops[M, M], error) {
		var marshaler easyproto.Marshaler
		return loops[M, M]{
			encode: func(r *run[M, M], n int) error {
				for range n {
					marshaler.Reset()
					code.Marshal(r.value(), marshaler.MessageMarshaler())
					r.out = marshaler.Marshal(r.out[:0])
				}
				return nil
			},
			decode: decodeBy[M, M](unmarshal),
		}, nil
	}
	return c
}
