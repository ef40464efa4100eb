package encode

import "postage/stage/encode/internal/bind"

type pooledMessage[V any] interface {
	protoMessage[V]
	vtSized[V]
	ResetVT()
	ReturnToVTPool()
	UnmarshalVT([]byte) error
}

// vtPool is vtprotobuf with its pools: each message is taken from a pool, decoded over what is left
// in it, and returned. That is reuse, so it has no row in decode.
//
//encodegen:rows pbpool codec=vtprotobuf/pool=yes: vtPool(k.Pooled, k.FromPool)
func vtPool[M, V any, P pooledMessage[V]](form bind.Form[M, V], fromPool func() *V) contender[M] {
	return &codec[M, V]{
		name:     "codec=vtprotobuf/pool=yes",
		module:   "github.com/planetscale/vtprotobuf",
		form:     form,
		can:      []op{opReuse},
		protobuf: true,
		damage:   damagePartly,
		loops: loops[M, V]{
			reuse: func(r *run[M, V], n int) error {
				if r.last != nil {
					P(r.last).ReturnToVTPool()
				}
				for i := range n {
					v := P(fromPool())
					r.last = v
					if err := v.UnmarshalVT(r.input()); err != nil {
						return err
					}
					if err := r.took(); err != nil {
						return err
					}
					if i < n-1 { // the last one is kept for the proof
						v.ReturnToVTPool()
					}
				}
				return nil
			},
		},
	}
}
