package encode

import (
	"buf.build/go/hyperpb"

	"postage/stage/encode/internal/bind"
)

// hyperPB is Buf's hyperpb, which compiles a message type at run time and decodes into values that
// are read by reflection. Without alias it copies the input first. Reuse frees the memory of one
// hyperpb.Shared and uses it again.
//
// It has no row with a profile of the corpus: compiled again with one, v0.1.3 decodes lists of texts
// wrongly.
//
//encodegen:rows hyperpb codec=hyperpb: hyperPB(k.Hyperpb, false), hyperPB(k.Hyperpb, true)
func hyperPB[M any](k bind.Hyperpb[M], alias bool) contender[M] {
	c := &codec[M, hyperpb.Message]{
		name:     "codec=hyperpb",
		module:   "buf.build/go/hyperpb",
		can:      []op{opDecode, opReuse},
		protobuf: true,
		damage:   damagePartly,
		loses:    "U+E0001 in text",
		utf8:     "error",
		alias:    alias,
		settings: map[string]string{"fields": "by reflection"},
		form:     k.Form(k.Descriptor()),
	}
	if !alias {
		c.impossible = map[op]string{opEncode: "hyperpb only decodes: its messages cannot be changed"}
	}
	c.open = func() (loops[M, hyperpb.Message], error) {
		message := hyperpb.CompileMessageDescriptor(k.Descriptor())
		option := hyperpb.WithAllowAlias(alias)
		shared, used := new(hyperpb.Shared), false
		return loops[M, hyperpb.Message]{
			decode: func(r *run[M, hyperpb.Message], n int) error {
				for range n {
					r.last = hyperpb.NewMessage(message)
					if err := r.last.Unmarshal(r.input(), option); err != nil {
						return err
					}
					if err := r.took(); err != nil {
						return err
					}
				}
				return nil
			},
			reuse: func(r *run[M, hyperpb.Message], n int) error {
				for range n {
					if used {
						shared.Free() // of the message before; a fresh one panics in Free
					}
					used = true
					r.last = shared.NewMessage(message)
					if err := r.last.Unmarshal(r.input(), option); err != nil {
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
