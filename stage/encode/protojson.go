package encode

import (
	"google.golang.org/protobuf/encoding/protojson"

	"postage/stage/encode/internal/bind"
)

// protoJSON is protobuf's own mapping to JSON, as gateways and REST services write it: names in
// lowerCamelCase, enums by name, 64-bit integers as strings. Depending on the build, a program may
// write an additional space between tokens.
func protoJSON[M, V any, P protoMessage[V]](form bind.Form[M, V]) contender[M] {
	return &codec[M, V]{
		name:     "codec=protojson",
		module:   "google.golang.org/protobuf",
		form:     form,
		can:      []op{opEncode, opDecode},
		utf8:     "error",
		settings: map[string]string{"buffer": "kept"},
		open: func() (loops[M, V], error) {
			return loops[M, V]{
				encode: func(r *run[M, V], n int) (err error) {
					for range n {
						if r.out, err = (protojson.MarshalOptions{}).MarshalAppend(r.out[:0], P(r.value())); err != nil {
							return err
						}
					}
					return nil
				},
				decode: func(r *run[M, V], n int) error {
					for range n {
						if err := protojson.Unmarshal(r.input(), P(r.into())); err != nil {
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
