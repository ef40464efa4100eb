package encode

import (
	"bytes"

	"capnproto.org/go/capnp/v3"

	"postage/stage/encode/internal/bind"
)

// capnProto is Cap'n Proto. Encoding builds a message from the plain struct, because the format has
// only encoded values. Decoding is Unmarshal, which only looks at the frame, and then reading every
// field, which is most of the work.
//
//encodegen:rows capnmsg codec=capnp: capnProto(k.Capnp)
func capnProto[M, V any](k bind.Capnp[M, V]) contender[M] {
	return &codec[M, V]{
		name:     "codec=capnp",
		module:   "capnproto.org/go/capnp/v3",
		can:      []op{opEncode, opDecode},
		alias:    true,
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept", "arena": "pooled", "text": "read as bytes"},
		form:     bind.Form[M, V]{To: k.To, Read: k.Read, Some: k.Some},
		build:    true,
		keeps:    true,
		open: func() (loops[M, V], error) {
			var buf bytes.Buffer
			encoder := capnp.NewEncoder(&buf)
			msg := new(capnp.Message)
			return loops[M, V]{
				encode: func(r *run[M, V], n int) error {
					for range n {
						segment, err := msg.Reset(capnp.SingleSegment(nil))
						if err != nil {
							return err
						}
						if err := k.Build(r.original(), segment); err != nil {
							return err
						}
						buf.Reset()
						if err := encoder.Encode(msg); err != nil {
							return err
						}
					}
					r.out = buf.Bytes()
					return nil
				},
				decode: func(r *run[M, V], n int) error {
					for range n {
						msg, err := capnp.Unmarshal(r.input())
						if err != nil {
							return err
						}
						if err := k.Root(msg, r.into()); err != nil {
							return err
						}
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
