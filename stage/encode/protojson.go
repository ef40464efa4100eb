package encode

import (
	"google.golang.org/protobuf/encoding/protojson"

	"postage/stage/encode/internal/bind"
)

// protoJSON is protobuf's own mapping to JSON, as gateways and REST services write it: names in
// lowerCamelCase, enums by name, 64-bit integers as strings. Depending on the build, a program may
// write an additional space between tokens.
//
//encodegen:rows - codec=protojson: protoJSON(k.Protobuf)
func protoJSON[M, V any, P protoMessage[V]](form bind.Form[M, V]) contender[M] {
	return &codec[M, V]{
		name:     "codec=protojson",
		module:   "google.golang.org/protobuf",
		form:     form,
		can:      []op{opEncode, opDecode},
		utf8:     "error",
		settings: map[string]string{"buffer": "kept"},
		loops: loops[M, V]{
			encode: encodeBy[M](func(buf []byte, v P) ([]byte, error) {
				return protojson.MarshalOptions{}.MarshalAppend(buf, v)
			}),
			decode: decodeBy[M, V](func(v P, data []byte) error { return protojson.Unmarshal(data, v) }),
		},
	}
}
