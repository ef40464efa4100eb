package load

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
	alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

// Servers of other languages have the older reflection only, which says the same. Where a server
// has none, the error names the way without.
func TestReflectionOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, has := range []bool{true, false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		grpc_testing.RegisterTestServiceServer(server, streamer{})
		if has {
			alpha.RegisterServerReflectionServer(server, reflection.NewServer(reflection.ServerOptions{Services: server}))
		}
		go func() { _ = server.Serve(listener) }()
		defer server.Stop()
		pool, err := Open(t.Context(), &Target{
			Proto: "grpc", Conns: 1, Streams: 1, RPC: "grpc.testing.TestService/UnaryCall", Request: Request{URL: parsed(t, "http://"+listener.Addr().String())},
		})
		if err == nil {
			defer pool.Close()
		}
		if has && err != nil || !has && (err == nil || !strings.Contains(err.Error(), "--proto-file")) {
			t.Errorf("reflection %v: %v", has, err)
		}
	}
}
