package apply

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"postage/internal/service/apiserver"
	"postage/internal/service/greeter/wire"
	"postage/internal/sys/kube"
)

// client is client-go for one kind, set up correctly for the content type that it wants.
type client struct {
	resource
	base string // URL of the server
	http *http.Client
	tap  *tap
	wire wire.Count // of TCP's payload, so with the framing of TLS and HTTP/2
}

// openClient sets content type and limits on the config before it makes the client. The page set
// them afterwards; see [openMistaken].
func openClient(r *apiserver.Reach, k *kind, m *media) (*client, error) {
	config, err := r.Config()
	if err != nil {
		return nil, err
	}
	config.ContentType, config.AcceptContentTypes = m.contentType, m.contentType
	config.QPS = -1
	return newClient(config, r.Namespace, k)
}

// newClient makes the client, with its connection counted and its requests seen.
func newClient(config *rest.Config, namespace string, k *kind) (*client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("client-go: %w", err)
	}
	c := &client{base: strings.TrimSuffix(base.String(), "/")}
	dialer := &net.Dialer{}
	config.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return c.wire.Conn(conn), nil
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		c.tap = &tap{next: next}
		return c.tap
	})
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("client-go: %w", err)
	}
	cluster, err := kube.Connect(config, c.http)
	if err != nil {
		return nil, fmt.Errorf("client-go: %w", err)
	}
	if !k.namespaced {
		namespace = ""
	}
	c.resource = k.open(cluster, namespace)
	return c, nil
}

// send sends a request with bytes that client-go has not encoded, over its connection. accepts is
// the content type of the response.
func (c *client) send(ctx context.Context, method, path, sends, accepts string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", sends)
	}
	request.Header.Set("Accept", accepts)
	return c.http.Transport.RoundTrip(request)
}

// close closes the connection. http.Client's own CloseIdleConnections does not reach through
// client-go's wrappers.
func (c *client) close() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }
