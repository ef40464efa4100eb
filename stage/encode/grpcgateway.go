package encode

import (
	"bytes"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"

	"postage/stage/encode/internal/bind"
)

// grpcGateway does what a gRPC-Gateway does to requests and responses by default: protojson with
// unset fields included, into fresh bytes, and decoded through encoding/json's decoder.
//
//encodegen:rows - codec=grpc-gateway: grpcGateway(k.Protobuf)
func grpcGateway[M, V any, P protoMessage[V]](form bind.Form[M, V]) contender[M] {
	return &codec[M, V]{
		name:     "codec=grpc-gateway",
		module:   "github.com/grpc-ecosystem/grpc-gateway/v2",
		form:     form,
		can:      []op{opEncode, opDecode},
		utf8:     "error",
		settings: map[string]string{"unset-fields": "written", "unknown-fields": "dropped"},
		open: func() (loops[M, V], error) {
			lib := runtime.JSONPb{
				MarshalOptions:   protojson.MarshalOptions{EmitUnpopulated: true},
				UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: true},
			}
			return loops[M, V]{
				encode: encodeBy[M](func(_ []byte, v P) ([]byte, error) { return lib.Marshal(v) }),
				decode: decodeBy[M, V](func(v P, data []byte) error {
					return lib.NewDecoder(bytes.NewReader(data)).Decode(v)
				}),
			}, nil
		},
	}
}
