// Package pbfastgrpc is a gRPC codec that does not copy received messages twice:
//
//	grpc.NewServer(grpc.ForceServerCodecV2(pbfastgrpc.Codec()))
//	grpc.NewClient(address, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(pbfastgrpc.Codec())))
//
// With pbfast's hook, gRPC's own codec is already fast. It collects what it received in one buffer,
// decodes that, which copies the message's text again, and returns the buffer to a pool. This codec
// collects it in memory that the message keeps.
package pbfastgrpc

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"

	"postage/pbfast"
)

// Codec returns a codec for gRPC's content-subtype "proto".
func Codec() encoding.CodecV2 { return codec{} }

type codec struct{}

func (codec) Name() string { return grpcproto.Name }

// Marshal encodes v into a buffer of gRPC's pool, or into one of its own if it is small.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m := messageOf(v)
	if m == nil {
		return nil, fmt.Errorf("pbfastgrpc: cannot encode a %T: want a proto.Message", v)
	}
	size, o := proto.Size(m), proto.MarshalOptions{UseCachedSize: true}
	if mem.IsBelowBufferPoolingThreshold(size) {
		data, err := o.Marshal(m)
		return mem.BufferSlice{mem.SliceBuffer(data)}, err
	}
	pool := mem.DefaultBufferPool()
	buf := pool.Get(size)
	data, err := o.MarshalAppend((*buf)[:0], m)
	if err != nil {
		pool.Put(buf)
		return nil, err
	}
	*buf = data
	return mem.BufferSlice{mem.NewBuffer(buf, pool)}, nil
}

// Unmarshal decodes data into v. The strings and bytes of v are parts of one new buffer.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m := messageOf(v)
	if m == nil {
		return fmt.Errorf("pbfastgrpc: cannot decode into a %T: want a proto.Message", v)
	}
	return pbfast.UnmarshalAlias(data.Materialize(), m)
}

// messageOf returns nil for what is no message.
func messageOf(v any) proto.Message {
	switch m := v.(type) {
	case proto.Message:
		return m
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(m)
	}
	return nil
}
