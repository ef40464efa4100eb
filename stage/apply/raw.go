package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"postage/internal/service/greeter/wire"
	"postage/internal/sys/kube"
)

// raw is one HTTP/2 connection to a server. It uses only client-go's credentials.
type raw struct {
	conn  *http.ClientConn
	where *url.URL
	wire  wire.Count
	tap   *tap
	auth  http.RoundTripper // adds the credentials to requests
}

func openRaw(ctx context.Context, config *rest.Config) (*raw, error) {
	where, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	where.Path = strings.TrimSuffix(where.Path, "/") // prefix of all paths
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	if settings == nil || where.Scheme != "https" {
		return nil, fmt.Errorf("the floor needs HTTP/2 over https, and the server is at %s", config.Host)
	}
	addr := where.Host
	if where.Port() == "" {
		addr = net.JoinHostPort(where.Hostname(), "443")
	}
	r := &raw{where: where, tap: new(tap)}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	dialer := &net.Dialer{}
	proxy := config.Proxy // proxy-url in the kubeconfig
	if proxy == nil {
		proxy = http.ProxyFromEnvironment // as client-go does
	}
	transport := &http.Transport{
		Proxy: proxy,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return r.wire.Conn(conn), nil
		},
		TLSClientConfig:    settings.Clone(),
		Protocols:          protocols,
		DisableCompression: true,
	}
	if r.conn, err = transport.NewClientConn(ctx, "https", addr); err != nil {
		return nil, fmt.Errorf("HTTP/2 with %s: %w", r.where.Host, err)
	}
	r.tap.next = r.conn
	if r.auth, err = rest.HTTPWrappersForConfig(config, r.tap); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *raw) close() error { return r.conn.Close() }

// request returns a request for a path and query below the server's own path.
func (r *raw) request(ctx context.Context, method, path, sends, accepts string, body []byte) (*http.Request, error) {
	var reader io.Reader
	if len(body) > 0 {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+r.where.Host+r.where.Path+path, reader)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		request.Header["Content-Type"] = []string{sends}
	}
	request.Header["Accept"] = []string{accepts}
	request.Header["User-Agent"] = []string{"postage"}
	return request, nil
}

// ask sends a request and reads the response.
func (r *raw) ask(ctx context.Context, method, path, sends, accepts string, body []byte) (status int, text []byte, err error) {
	request, err := r.request(ctx, method, path, sends, accepts, body)
	if err != nil {
		return 0, nil, err
	}
	response, err := r.auth.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// encoded returns an object as client-go sends it.
func encoded(m *media, k *kind, o runtime.Object) ([]byte, error) {
	i := slices.IndexFunc(kube.Codecs.SupportedMediaTypes(), func(info runtime.SerializerInfo) bool { return info.MediaType == m.contentType })
	var s runtime.Serializer
	if i >= 0 {
		s = kube.Codecs.SupportedMediaTypes()[i].Serializer
	} else {
		s = serializerOf(m) // clients have no codec for CBOR unless the gate is open
	}
	return runtime.Encode(kube.Codecs.EncoderForVersion(s, schema.GroupVersion{Group: k.group, Version: k.version}), o)
}
