package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"crypto/tls"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// roundTripper sends a request through net/http's interface. It is used for HTTP/3 and with
// cookies.
type roundTripper struct {
	tr   http.RoundTripper
	take func() Request
	// unsuccessful is Target's.
	unsuccessful func(status int) error
	timeout      time.Duration // 0 for none
	late         error         // the error of a request that takes longer
	connect      func(context.Context) error
	read         func(*http.Response) error // what a successful answer says; nil to read past it
	drop         func() error               // ends the connection, where read may leave some of an answer
	buf          []byte
	group        int // of the last request
}

func (s *roundTripper) target() int { return s.group }

// Connect makes the connection that the transport will ask for.
func (s *roundTripper) Connect(ctx context.Context) error { return s.connect(ctx) }

// Send sends the request and reads the whole answer.
func (s *roundTripper) Send(ctx context.Context) (status int, err error) {
	if s.timeout == 0 {
		return s.send(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	status, err = s.send(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return 0, s.late
	}
	return status, err
}

func (s *roundTripper) send(ctx context.Context) (status int, err error) {
	request := s.take()
	s.group = request.group
	r := (&http.Request{
		Method: request.Method, URL: request.URL, Host: request.host(), Header: request.Header,
	}).WithContext(ctx)
	if len(request.Body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(request.Body))
		r.ContentLength = int64(len(request.Body))
	}
	response, err := s.tr.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if s.read != nil && s.unsuccessful(response.StatusCode) == nil {
		body := &endedBody{ReadCloser: response.Body}
		response.Body = body
		if err = s.read(response); !body.ended {
			err = errors.Join(err, s.drop()) // the connection carries no other request
		}
		return response.StatusCode, err
	}
	if s.buf == nil {
		s.buf = make([]byte, 16<<10)
	}
	for {
		if _, err = response.Body.Read(s.buf); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
	}
	return response.StatusCode, s.unsuccessful(response.StatusCode)
}

// An endedBody knows whether it was read to its end.
type endedBody struct {
	io.ReadCloser
	ended bool
}

func (b *endedBody) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// quicConfig is http3.Transport's own default.
var quicConfig = &quic.Config{MaxIncomingStreams: -1, KeepAlivePeriod: 10 * time.Second, Versions: []quic.Version{quic.Version1}}

// A quicDialer makes a transport's connections. It makes the first one before the run.
type quicDialer struct {
	target *Target
	mu     sync.Mutex
	tried  bool
	ready  *quic.Conn // the first, until the transport asks for it
}

// connect makes the first connection.
func (d *quicDialer) connect(ctx context.Context) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tried {
		return nil
	}
	d.tried = true
	if d.target.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, d.target.Timeout)
		defer cancel()
		ctx = limited
	}
	d.ready, err = quic.DialAddr(ctx, d.target.addr(), d.target.tls(http3.NextProtoH3), quicConfig)
	return err
}

// dial is what the transport calls.
func (d *quicDialer) dial(ctx context.Context, addr string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
	d.mu.Lock()
	conn := d.ready
	d.ready = nil
	d.mu.Unlock()
	if conn != nil && conn.Context().Err() == nil {
		return conn, nil
	}
	return quic.DialAddr(ctx, addr, config, quicConfig)
}

// Close ends a connection that the transport has not asked for.
func (d *quicDialer) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready == nil {
		return nil
	}
	return d.ready.CloseWithError(0, "")
}
