package send

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"postage/internal/service/greeter/hello"
)

// grpcGo is gRPC by grpc-go at both ends.
func grpcGo() *transport {
	return &transport{
		name: "proto=grpc", module: "google.golang.org/grpc", server: "grpc",
		version: "HTTP/2.0", alpn: "h2", unnamed: true,
		settings: map[string]string{"lib": "grpc-go", "server": "grpc-go"},
		open:     openGRPC,
	}
}

type grpcClient struct {
	*target
	options []grpc.DialOption
	conn    *grpc.ClientConn // nil if connections are not reused
}

func openGRPC(t *target) (client, error) {
	call := []grpc.CallOption{grpc.MaxCallRecvMsgSize(hello.MaxFrame)}
	if codec := t.spec.body.GRPC(); codec != nil {
		call = append(call, grpc.ForceCodecV2(codec))
	}
	creds := insecure.NewCredentials()
	if t.tls != nil {
		creds = credentials.NewTLS(t.tls)
	}
	c := &grpcClient{target: t, options: []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return t.dial(ctx) }),
		grpc.WithDefaultCallOptions(call...),
		// Neither is useful here, and each would look for settings elsewhere.
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
	}}
	if !t.spec.reuse {
		return c, nil
	}
	var err error
	c.conn, err = c.dial()
	return c, err
}

func (c *grpcClient) dial() (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+c.addr, c.options...)
}

func (c *grpcClient) call(l *lane) error {
	conn := c.conn
	if conn == nil {
		var err error
		if conn, err = c.dial(); err != nil {
			return err
		}
	}
	reply := new(hello.Reply)
	err := conn.Invoke(c.ctx, hello.Method, l.request, reply)
	if c.conn == nil {
		if err := conn.Close(); err != nil {
			return err
		}
		c.wire.WaitClosed()
	}
	if err != nil {
		return err
	}
	return l.check(reply)
}

func (c *grpcClient) close() error {
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.wire.WaitClosed()
	return err
}
