// Package hello is the send stage's message and the ways to turn it into bytes. `go generate` in
// stage/encode also makes its generated code.
package hello

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Codec turns the messages into bytes and back, the same for every protocol.
type Codec struct {
	// Name is what rows call it: json, proto or vtproto.
	Name string
	// ContentType is what HTTP calls it.
	ContentType string
	// Marshal encodes a *Request or *Reply.
	Marshal func(m any) ([]byte, error)
	// Unmarshal decodes into an empty *Request or *Reply.
	Unmarshal func(data []byte, m any) error
}

// The codecs. Both messages have only strings and bytes, so encoding/json reads and writes the
// structs directly, without protobuf's own JSON mapping.
var (
	JSON = Codec{"json", "application/json", json.Marshal, json.Unmarshal}

	Proto = Codec{"proto", "application/protobuf",
		func(m any) ([]byte, error) { return proto.Marshal(m.(proto.Message)) },
		func(data []byte, m any) error { return proto.Unmarshal(data, m.(proto.Message)) },
	}

	VTProto = Codec{"vtproto", "application/protobuf",
		func(m any) ([]byte, error) { return m.(vtMessage).MarshalVT() },
		func(data []byte, m any) error { return m.(vtMessage).UnmarshalVT(data) },
	}
)

// Raw is the payload alone, a message of the caller's own. What it decodes shares memory with the
// bytes.
var Raw = Codec{"raw", "application/octet-stream",
	func(m any) ([]byte, error) {
		if request, ok := m.(*Request); ok {
			return request.Payload, nil
		}
		return m.(*Reply).Payload, nil
	},
	func(data []byte, m any) error {
		switch m := m.(type) {
		case *Request:
			m.Payload = data
		case *Reply:
			m.Payload = data
		}
		return nil
	},
}

type vtMessage interface {
	MarshalVT() ([]byte, error)
	UnmarshalVT(data []byte) error
}

// CodecNamed finds a codec.
func CodecNamed(name string) (Codec, error) {
	for _, c := range []Codec{JSON, Proto, VTProto, Raw} {
		if c.Name == name {
			return c, nil
		}
	}
	return Codec{}, fmt.Errorf("there is no codec %q", name)
}

// GRPC returns the codec in grpc-go's form, nil for the codec that grpc-go has built in.
func (c Codec) GRPC() encoding.CodecV2 {
	if c.Name == Proto.Name {
		return nil
	}
	return grpcCodec{c}
}

type grpcCodec struct{ Codec }

func (c grpcCodec) Name() string {
	if c.Codec.Name == JSON.Name {
		return "json"
	}
	return "proto"
}

func (c grpcCodec) Marshal(m any) (mem.BufferSlice, error) {
	data, err := c.Codec.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

func (c grpcCodec) Unmarshal(data mem.BufferSlice, m any) error {
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	return c.owned(buffer.ReadOnlyData(), m)
}

// owned decodes data that the library overwrites later.
func (c Codec) owned(data []byte, m any) error {
	if c.Name == Raw.Name {
		data = bytes.Clone(data)
	}
	return c.Unmarshal(data, m)
}

// Connect returns the codec in connect-go's form.
func (c Codec) Connect() ConnectCodec { return ConnectCodec{c} }

// ConnectCodec is a codec in connect-go's form.
type ConnectCodec struct{ codec Codec }

// Name is the content type's last part.
func (c ConnectCodec) Name() string { return grpcCodec{c.codec}.Name() }

// Marshal encodes a message.
func (c ConnectCodec) Marshal(m any) ([]byte, error) { return c.codec.Marshal(m) }

// Unmarshal decodes a message.
func (c ConnectCodec) Unmarshal(data []byte, m any) error { return c.codec.owned(data, m) }
