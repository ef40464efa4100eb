package encode

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"postage/stage/encode/internal/bind"
)

// flatBuffers is FlatBuffers. Encoding builds a message from the plain struct, because the format
// has only encoded values. Decoding is only reading every field.
//
//encodegen:rows flatmsg codec=flatbuffers: flatBuffers(k.Flatbuffers)
func flatBuffers[M, V any](k bind.Flatbuffers[M, V]) contender[M] {
	return &codec[M, V]{
		name:     "codec=flatbuffers",
		module:   "github.com/google/flatbuffers",
		can:      []op{opEncode, opDecode, opReuse},
		alias:    true,
		damage:   damagePanics,
		loses:    "-0",
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept", "text": "read as bytes"},
		form:     bind.Form[M, V]{To: k.To, Read: k.Read, Some: k.Some},
		build:    true,
		keeps:    true,
		open: func() (loops[M, V], error) {
			b := &bind.FlatBuilder{Builder: flatbuffers.NewBuilder(1024)}
			return loops[M, V]{
				encode: func(r *run[M, V], n int) error {
					for range n {
						b.Builder.Reset()
						k.Build(r.original(), b)
					}
					r.out = b.Builder.FinishedBytes()
					return nil
				},
				decode: func(r *run[M, V], n int) error {
					for range n {
						k.Root(r.input(), r.into())
						if err := r.took(); err != nil {
							return err
						}
					}
					return nil
				},
			}, nil
		},
	}
}
