package encode

import (
	"github.com/mus-format/mus-go"

	"postage/stage/encode/internal/bind"
)

// musFormat is mus-go: serializers composed of the library's own, which write fields one after
// another without names or numbers. They take and return structs by value.
//
//encodegen:rows mus codec=mus: musFormat(k.Plain, k.Mus)
func musFormat[M any](form bind.Form[M, M], serializer mus.Serializer[M]) contender[M] {
	return &codec[M, M]{
		name:       "codec=mus",
		module:     "github.com/mus-format/mus-go",
		form:       form,
		can:        []op{opEncode, opDecode},
		damage:     damageUnbounded,
		utf8:       "kept",
		impossible: map[op]string{opNewer: byOrder, opOlder: byOrder},
		settings:   map[string]string{"buffer": "kept", "schema": "not in the message"},
		loops: loops[M, M]{
			encode: func(r *run[M, M], n int) error {
				for range n {
					v := r.value()
					r.out = r.room(serializer.Size(*v))
					serializer.Marshal(*v, r.out)
				}
				return nil
			},
			decode: func(r *run[M, M], n int) (err error) {
				for range n {
					v := r.into()
					if *v, _, err = serializer.Unmarshal(r.input()); err != nil {
						return err
					}
					if err = r.took(); err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}
