package send

import (
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"postage/internal/service/greeter/hello"
	"postage/stage/internal/lanes"
)

// fastHTTP1 is HTTP/1.1 by fasthttp at both ends.
func fastHTTP1() *transport {
	return &transport{
		name: "proto=http1/lib=fasthttp", module: "github.com/valyala/fasthttp", server: "fasthttp",
		version: "HTTP/1.1", alpn: "http/1.1",
		settings: map[string]string{"server": "fasthttp"},
		idle:     fastIdle,
		open:     openFastHTTP,
	}
}

// fastIdle is short because fasthttp's goroutine that closes idle connections sleeps for that time,
// even after the client is no longer used.
const fastIdle = 700 * time.Millisecond

type fastClient struct {
	*target
	host *fasthttp.HostClient
	url  string
}

func openFastHTTP(t *target) (client, error) {
	c := &fastClient{target: t, url: "http://" + t.addr + "/", host: &fasthttp.HostClient{
		Addr:                t.addr,
		Dial:                func(string) (net.Conn, error) { return t.dial(t.ctx) },
		MaxResponseBodySize: hello.MaxFrame,
		MaxConns:            512,
		MaxIdleConnDuration: fastIdle,
		// A lost connection is an error, and must not be replaced silently.
		MaxIdemponentCallAttempts: 1,
	}}
	if t.tls != nil {
		c.url = "https://" + t.addr + "/"
		c.host.IsTLS = true
		c.host.TLSConfig = t.tls.Clone()
		c.host.TLSConfig.NextProtos = []string{"http/1.1"}
	}
	if t.spec.conns > 0 {
		c.host.MaxConns = 1
		c.host.MaxConnWaitTimeout = lanes.SlowestLatency
	}
	return c, nil
}

func (c *fastClient) call(l *lane) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	body, err := c.spec.body.Marshal(l.request)
	if err != nil {
		return err
	}
	request.SetRequestURI(c.url)
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.SetContentType(c.spec.body.ContentType)
	request.SetBodyRaw(body)
	if !c.spec.reuse {
		request.SetConnectionClose()
	}
	if err := c.host.Do(request, response); err != nil {
		return err
	}
	if code := response.StatusCode(); code != fasthttp.StatusOK {
		return fmt.Errorf("the server answers %d: %s", code, response.Body())
	}
	reply := new(hello.Reply)
	if err := c.spec.body.Unmarshal(response.Body(), reply); err != nil {
		return err
	}
	if !c.spec.reuse {
		c.wire.WaitClosed()
	}
	return l.check(reply)
}

func (c *fastClient) close() error {
	c.host.CloseIdleConnections()
	c.wire.WaitClosed()
	return nil
}
