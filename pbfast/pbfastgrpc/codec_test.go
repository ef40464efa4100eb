package pbfastgrpc

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
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

func echo(t *testing.T, conn *grpc.ClientConn, m, into proto.Message) {
	t.Helper()
	if err := conn.Invoke(t.Context(), "/test.Echo/Echo", m, into); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(m, into) {
		t.Error("what came back is something else")
	}
}

// Small messages and ones of many frames come back as they were sent, by this codec and by gRPC's
// own with the hook on.
func TestRoundTrip(t *testing.T) {
	if !pbfast.Hooked(new(proto3.TestAllTypesProto3)) {
		t.Fatal("the hook is off")
	}
	server, client := []grpc.ServerOption{grpc.ForceServerCodecV2(Codec())}, grpc.ForceCodecV2(Codec())
	fresh := func() *proto3.TestAllTypesProto3 { return new(proto3.TestAllTypesProto3) }
	for name, conn := range map[string]*grpc.ClientConn{
		"pbfast's codec": serve(t, fresh, server, client),
		"gRPC's codec":   serve(t, fresh, nil),
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 1000, 100_000} {
				m := &proto3.TestAllTypesProto3{
					OptionalString:  strings.Repeat("größe ", n),
					OptionalBytes:   make([]byte, n),
					RepeatedString:  []string{"a", strings.Repeat("b", n)},
					MapStringString: map[string]string{"k": strings.Repeat("v", n)},
				}
				echo(t, conn, m, new(proto3.TestAllTypesProto3))
			}
		})
	}
	t.Run("a message without methods", func(t *testing.T) {
		conn := serve(t, func() *wrapperspb.StringValue { return new(wrapperspb.StringValue) }, server, client)
		echo(t, conn, wrapperspb.String("x"), new(wrapperspb.StringValue))
	})
}
