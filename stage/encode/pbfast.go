package encode

import (
	"postage/stage/encode/internal/bind"
)

type pbfastMessage[V any] interface {
	protoMessage[V]
	MarshalAppend([]byte) ([]byte, error)
	Unmarshal([]byte) error
	UnmarshalOwn([]byte) error
	UnmarshalAlias([]byte) error
	UnmarshalReuse([]byte) error
}

// A pbfastMode is how pbfast's methods treat the strings and bytes of what they decode.
type pbfastMode int

const (
	pbfastShared pbfastMode = iota // parts of one copy of the input
	pbfastOwn                      // in memory of their own
	pbfastAlias                    // parts of the input
)

// pbFast is this repository's code for protobuf's wire format, called through its methods on the
// messages. It makes every check that protobuf makes.
//
//encodegen:rows pbfast codec=pbfast: pbFast(k.Protobuf, pbfastShared), pbFast(k.Protobuf, pbfastOwn), pbFast(k.Protobuf, pbfastAlias)
func pbFast[M, V any, P pbfastMessage[V]](form bind.Form[M, V], mode pbfastMode) contender[M] {
	c := &codec[M, V]{
		name:     "codec=pbfast",
		module:   "postage/pbfast",
		form:     form,
		can:      []op{opDecode},
		protobuf: true,
		damage:   damagePartly,
		utf8:     "error",
	}
	unmarshal := P.Unmarshal
	switch mode {
	case pbfastShared:
		c.can = []op{opEncode, opDecode}
	case pbfastOwn:
		c.name += "/own=yes"
		unmarshal = P.UnmarshalOwn
	case pbfastAlias:
		c.alias, c.can = true, []op{opDecode, opReuse}
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
		reuse:  decodeBy[M, V](P.UnmarshalReuse),
	}
	return c
}
