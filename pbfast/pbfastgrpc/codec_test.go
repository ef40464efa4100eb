package pbfastgrpc

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"postage/pbfast"
	"postage/pbfast/internal/testmessages/proto3"
)

// serve starts a server that answers a message with itself, and returns a connection to it.
func serve[M proto.Message](t *testing.T, fresh func() M, server []grpc.ServerOption, client ...grpc.CallOption) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(server...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Echo",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				m := fresh()
				return m, decode(m)
			},
		}},
	}, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(client...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// echo returns what came back.
func echo(t *testing.T, conn *grpc.ClientConn, m, into proto.Message) proto.Message {
	t.Helper()
	if err := conn.Invoke(t.Context(), "/test.Echo/Echo", m, into); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(m, into) {
		t.Error("what came back is something else")
	}
	return into
}

// A spoiling pool writes over the buffers that gRPC gives back, as their next user would.
type spoiling struct {
	mem.BufferPool
	spoilt atomic.Int64
}

func (p *spoiling) Put(b *[]byte) {
	for i := range *b {
		(*b)[i] = 0xff
	}
	p.spoilt.Add(1)
	p.BufferPool.Put(b)
}

// An oldCodec is one of gRPC's version 1, such as vtprotobuf's. While it is registered, gRPC has no
// codec of version 2.
type oldCodec struct{}

func (oldCodec) Name() string                       { return grpcproto.Name }
func (oldCodec) Marshal(v any) ([]byte, error)      { return proto.Marshal(v.(proto.Message)) }
func (oldCodec) Unmarshal(data []byte, v any) error { return proto.Unmarshal(data, v.(proto.Message)) }

func TestBesideAnOldCodec(t *testing.T) {
	own := encoding.GetCodecV2(grpcproto.Name)
	encoding.RegisterCodec(oldCodec{})
	defer encoding.RegisterCodecV2(own)
	fresh := func() *proto3.TestAllTypesProto3 { return new(proto3.TestAllTypesProto3) }
	conn := serve(t, fresh, []grpc.ServerOption{grpc.ForceServerCodecV2(Codec())}, grpc.ForceCodecV2(Codec()))
	echo(t, conn, &proto3.TestAllTypesProto3{OptionalString: "x"}, fresh())
	if _, err := Codec().Marshal("no message"); err == nil {
		t.Error("text is encoded")
	}
	if Codec().Unmarshal(nil, "no message") == nil {
		t.Error("text is decoded into")
	}
}

// Small messages and ones of many frames come back as they were sent, and stay as they are after
// gRPC has used its buffers again, by this codec and by gRPC's own with the hook on.
func TestRoundTrip(t *testing.T) {
	if err := pbfast.HookError(new(proto3.TestAllTypesProto3)); err != nil {
		t.Fatal(err)
	}
	pool := &spoiling{BufferPool: mem.DefaultBufferPool()}
	experimental.SetDefaultBufferPool(pool)
	defer experimental.SetDefaultBufferPool(pool.BufferPool)
	server, client := []grpc.ServerOption{grpc.ForceServerCodecV2(Codec())}, grpc.ForceCodecV2(Codec())
	fresh := func() *proto3.TestAllTypesProto3 { return new(proto3.TestAllTypesProto3) }
	for name, conn := range map[string]*grpc.ClientConn{
		"pbfast's codec": serve(t, fresh, server, client),
		"gRPC's codec":   serve(t, fresh, nil),
	} {
		t.Run(name, func(t *testing.T) {
			var sent, kept []proto.Message
			for _, n := range []int{0, 1, 1000, 100_000, 1000, 1} {
				m := &proto3.TestAllTypesProto3{
					OptionalString:  strings.Repeat("größe ", n),
					OptionalBytes:   make([]byte, n),
					RepeatedString:  []string{"a", strings.Repeat("b", n)},
					MapStringString: map[string]string{"k": strings.Repeat("v", n)},
				}
				sent, kept = append(sent, m), append(kept, echo(t, conn, m, new(proto3.TestAllTypesProto3)))
			}
			for i := range sent {
				if !proto.Equal(sent[i], kept[i]) {
					t.Errorf("message %d has changed since it came", i)
				}
			}
			if pool.spoilt.Load() == 0 {
				t.Error("no buffer was given back")
			}
		})
	}
	t.Run("a message that reflection has", func(t *testing.T) {
		conn := serve(t, fresh, server, client)
		r := fresh().ProtoReflect()
		if err := conn.Invoke(t.Context(), "/test.Echo/Echo", &proto3.TestAllTypesProto3{OptionalInt32: 7}, r.Interface()); err != nil {
			t.Fatal(err)
		}
		if v := r.Get(r.Descriptor().Fields().ByName("optional_int32")); v.Int() != 7 {
			t.Errorf("it reads %v", v)
		}
	})
	t.Run("a message without methods", func(t *testing.T) {
		conn := serve(t, func() *wrapperspb.StringValue { return new(wrapperspb.StringValue) }, server, client)
		echo(t, conn, wrapperspb.String("x"), new(wrapperspb.StringValue))
	})
}
