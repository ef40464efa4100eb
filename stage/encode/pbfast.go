package encode

import (
	"postage/pbfast"
	"postage/stage/encode/internal/bind"
)

type pbfastMessage[V any] interface {
	protoMessage[V]
	MarshalAppend([]byte) ([]byte, error)
	Unmarshal([]byte) error
	UnmarshalAlias([]byte) error
}

// pbFast is this repository's code for protobuf's wire format, called through its methods on the
// messages. It makes every check that protobuf makes. With alias, the strings and bytes that it
// decodes are parts of the input, and otherwise of one copy of it.
//
//encodegen:rows pbhook codec=pbfast: pbFast(k.Hooked, false), pbFastReuse(k.Hooked), pbFastHook(k.Hooked)
func pbFast[M, V any, P pbfastMessage[V]](form bind.Form[M, V], alias bool) contender[M] {
	c := &codec[M, V]{
		name:     "codec=pbfast",
		module:   "postage/pbfast",
		form:     form,
		can:      []op{opEncode, opDecode},
		protobuf: true,
		damage:   damagePartly,
		utf8:     "error",
	}
	unmarshal := P.Unmarshal
	if alias {
		c.alias, c.can = true, []op{opDecode}
		unmarshal = P.UnmarshalAlias
	}
	c.loops = loops[M, V]{
		encode: func(r *run[M, V], n int) (err error) {
			for range n {
				if r.out, err = P(r.value()).MarshalAppend(r.out[:0]); err != nil {
					return err
				}
			}
			return nil
		},
		decode: decodeBy[M, V](unmarshal),
	}
	return c
}

// pbFastReuse is pbFast with alias, and decodes into a kept message too.
func pbFastReuse[M, V any, P interface {
	pbfastMessage[V]
	UnmarshalReuse([]byte) error
}](form bind.Form[M, V]) contender[M] {
	c := pbFast[M, V, P](form, true).(*codec[M, V])
	c.can = append(c.can, opReuse)
	c.loops.reuse = decodeBy[M, V](P.UnmarshalReuse)
	return c
}

// pbFastHook calls protobuf as usual, with proto.MarshalAppend and proto.Unmarshal, which run
// pbfast's code for these messages.
func pbFastHook[M, V any, P protoMessage[V]](form bind.Form[M, V]) contender[M] {
	c := protobuf[M, V, P](form, false).(*codec[M, V])
	c.name, c.module, c.can = "codec=pbfast/hook=yes", "postage/pbfast", []op{opEncode, opDecode}
	c.check = func() error { return pbfast.HookError(P(new(V)).ProtoReflect().Interface()) }
	return c
}
