package send

import (
	"net/http"

	"connectrpc.com/connect"

	"postage/internal/service/greeter/hello"
)

// connectGo is one of connect-go's protocols over one version of HTTP, through net/http.
func connectGo(proto, version string, options ...connect.ClientOption) *transport {
	tr := &transport{
		name: "proto=" + proto + "/over=" + version + "/lib=connect-go", module: "connectrpc.com/connect", server: "connect",
		version: "HTTP/2.0", alpn: "h2", unnamed: true,
		settings: map[string]string{"server": "connect-go"},
	}
	if version == "http1" {
		tr.version, tr.alpn = "HTTP/1.1", "http/1.1"
	}
	tr.open = func(t *target) (client, error) {
		scheme := "http://"
		if t.tls != nil {
			scheme = "https://"
		}
		c := &connectClient{target: t, http: netTransport(t, tr.alpn)}
		c.rpc = connect.NewClient[hello.Request, hello.Reply](&http.Client{Transport: c.http}, scheme+t.addr+hello.Method,
			append(options, connect.WithCodec(t.spec.body.Connect()), connect.WithAcceptCompression("gzip", nil, nil))...)
		return c, nil
	}
	return tr
}

// connectProto is the Connect protocol.
func connectProto(version string) *transport { return connectGo("connect", version) }

// grpcWeb is gRPC-Web.
func grpcWeb(version string) *transport { return connectGo("grpcweb", version, connect.WithGRPCWeb()) }

// connectGRPC is gRPC by connect-go.
func connectGRPC() *transport { return connectGo("grpc", "http2", connect.WithGRPC()) }

type connectClient struct {
	*target
	http *http.Transport
	rpc  *connect.Client[hello.Request, hello.Reply]
}

func (c *connectClient) call(l *lane) error {
	response, err := c.rpc.CallUnary(c.ctx, connect.NewRequest(l.request))
	if err != nil {
		return err
	}
	if !c.spec.reuse {
		c.wire.WaitClosed()
	}
	return l.check(response.Msg)
}

func (c *connectClient) close() error {
	c.http.CloseIdleConnections()
	c.wire.WaitClosed()
	return nil
}
