// Package pbfastgrpc is a gRPC codec that does not copy received messages twice:
//
//	grpc.NewServer(grpc.ForceServerCodecV2(pbfastgrpc.Codec()))
//	grpc.NewClient(address, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(pbfastgrpc.Codec())))
//
// With pbfast's hook, gRPC's own codec is already fast. It collects what it received in one buffer,
// decodes that, which copies the message's text again, and returns the buffer to a pool. This codec
// collects it in memory that the message keeps. Encoding is left to gRPC's codec.
package pbfastgrpc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Codec returns a codec for gRPC's content-subtype "proto". Messages without pbfast's methods are
// decoded by gRPC's own.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

type codec struct{ encoding.CodecV2 }

// Unmarshal decodes data into v. The strings and bytes of v are parts of one new buffer.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(interface{ UnmarshalAlias([]byte) error })
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	return m.UnmarshalAlias(data.Materialize())
}
