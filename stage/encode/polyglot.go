package encode

import (
	"github.com/loopholelabs/polyglot/v2"

	"postage/stage/encode/internal/bind"
)

type polyglotMessage[V any] interface {
	*V
	Encode(*polyglot.Buffer)
	Decode([]byte) error
}

// polyglotCodec is Loophole Labs' polyglot, with its generator. Its decoder fills the value that it
// is given. A fresh value gets new memory; in a kept value, the bytes and repeated messages are
// reused, as on the published page.
//
// It has no optional scalars. Each one is wrapped in a message of its own, as in protobuf's
// well-known wrapper types.
//
//encodegen:rows polymsg codec=polyglot: polyglotCodec(k.Polyglot, k.Optionals)
func polyglotCodec[M, V any, P polyglotMessage[V]](form bind.Form[M, V], optionals bool) contender[M] {
	c := &codec[M, V]{
		name:   "codec=polyglot",
		module: "github.com/loopholelabs/polyglot/v2",
		form:   form,
		can:    []op{opEncode, opDecode, opReuse},
		damage: damagePanics,
		keeps:  true,
		utf8:   "kept",
	}
	if optionals {
		c.name += "/optional=wrapped"
		c.can = []op{opEncode, opDecode}
		c.impossible = map[op]string{opReuse: "polyglot's decoder leaves what is absent as it was in the message before: the kept value would have to be cleared, which is op=decode"}
	}
	c.open = func() (loops[M, V], error) {
		buf := polyglot.NewBuffer()
		return loops[M, V]{
			encode: func(r *run[M, V], n int) error {
				for range n {
					buf.Reset()
					P(r.value()).Encode(buf)
				}
				r.out = buf.Bytes()
				return nil
			},
			decode: func(r *run[M, V], n int) error {
				for range n {
					if err := P(r.into()).Decode(r.input()); err != nil {
						return err
					}
					if err := r.took(); err != nil {
						return err
					}
				}
				return nil
			},
		}, nil
	}
	return c
}
