package encode

import (
	"github.com/tinylib/msgp/msgp"

	"postage/stage/encode/internal/bind"
)

type msgpMessage[M any] interface {
	*M
	msgp.Marshaler
	msgp.Unmarshaler
}

// msgPack is tinylib's msgp: MessagePack with generated methods, structs as maps by field name.
//
//encodegen:rows msgp codec=msgp: msgPack(k.Plain)
func msgPack[M any, P msgpMessage[M]](form bind.Form[M, M]) contender[M] {
	return &codec[M, M]{
		name:     "codec=msgp",
		module:   "github.com/tinylib/msgp",
		form:     form,
		can:      []op{opEncode, opDecode, opReuse},
		utf8:     "kept",
		settings: map[string]string{"structs": "maps by field name"},
		loops: loops[M, M]{
			encode: func(r *run[M, M], n int) (err error) {
				for range n {
					if r.out, err = P(r.value()).MarshalMsg(r.out[:0]); err != nil {
						return err
					}
				}
				return nil
			},
			decode: func(r *run[M, M], n int) error {
				for range n {
					if _, err := P(r.into()).UnmarshalMsg(r.input()); err != nil {
						return err
					}
					if err := r.took(); err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}
