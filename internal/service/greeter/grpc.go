package greeter

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"

	"postage/internal/service/greeter/hello"
)

// grpc serves gRPC by grpc-go, and tells clients what it serves (server reflection).
func (h *host) grpc() (string, error) {
	config, err := h.tls("h2")
	if err != nil {
		return "", err
	}
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(hello.MaxFrame)}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	if codec := h.codec.GRPC(); codec != nil {
		options = append(options, grpc.ForceServerCodecV2(codec))
	}
	l, err := h.tcp()
	if err != nil {
		return "", err
	}
	s := grpc.NewServer(options...)
	hello.Register(s, func(_ context.Context, request *hello.Request) (*hello.Reply, error) {
		h.request("HTTP/2.0")
		return h.greet(request, "")
	})
	if h.config.Body == hello.Proto.Name {
		reflection.Register(s)
	}
	go func() { _ = s.Serve(l) }()
	return l.Addr().String(), nil
}
