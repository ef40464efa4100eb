package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/publicsuffix"
)

// An exchange is a connection of net/http or quic-go. Several lines may share it.
type exchange struct {
	http.RoundTripper
	connect func(context.Context) error
	close   func() error
}

func (t *Target) exchange() exchange {
	if t.Proto != "http3" {
		c := newClientConn(t)
		return exchange{c, c.connect, c.close}
	}
	dial := func(ctx context.Context) (*quic.Conn, error) {
		return quic.DialAddr(ctx, t.addr(), t.tls(http3.NextProtoH3), quicConfig)
	}
	var tried atomic.Bool
	first := make(chan *quic.Conn, 1) // made before the run, until the transport asks for it
	tr := &http3.Transport{QUICConfig: quicConfig, DisableCompression: true}
	tr.Dial = func(ctx context.Context, _ string, _ *tls.Config, _ *quic.Config) (*quic.Conn, error) {
		select {
		case conn := <-first:
			if conn.Context().Err() == nil {
				return conn, nil
			}
		default:
		}
		return dial(ctx)
	}
	connect := func(ctx context.Context) error {
		if tried.Swap(true) {
			return nil
		}
		ctx, cancel := t.limited(ctx, "connection")
		defer cancel()
		conn, err := dial(ctx)
		if err == nil {
			first <- conn
		}
		return err
	}
	return exchange{tr, connect, func() error {
		select {
		case conn := <-first:
			return errors.Join(tr.Close(), conn.CloseWithError(0, ""))
		default:
			return tr.Close()
		}
	}}
}

// openExchanges makes a line for each request that may be under way at a time, for HTTP/3 and for
// cookies.
func openExchanges(_ context.Context, t *Target, p *Pool) error {
	users := t.Streams
	switch {
	case t.Proto == "http1":
		users = 1
	case t.Proto == "http3" && !t.secure():
		return errors.New("RFC 9001: QUIC has no cleartext; give an https URL")
	case t.Proto == "http3" && t.network() == "unix":
		return errors.New("QUIC runs over UDP, and not over a UNIX socket")
	case t.Proto != "http2" && t.Proto != "http3":
		return errors.New("cookies, and what is expected of bodies, work with http1, http2 and http3 only")
	}
	return p.addExchanges(t, users, nil)
}

// addExchanges adds connections with so many lines each. Each line has read.
func (p *Pool) addExchanges(t *Target, users int, read func(*Work, *http.Response) (answered time.Time, err error)) error {
	take := inTurn(t.Requests)
	for range t.Conns {
		x := t.exchange()
		p.closers = append(p.closers, x.close)
		for range users {
			line := &roundTripper{exchange: x, target: t, take: take, read: read}
			if t.Cookies {
				line.jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // it never fails
				line.take = inTurn(t.Requests)                                                       // each visitor does all of them in order
				if t.linked() {
					line.kept = &answerValues{json: map[string]any{}, header: http.Header{}, cookie: map[string]string{}}
					line.take = line.kept.completed(line.take)
				}
			}
			p.Lines = append(p.Lines, line)
		}
	}
	return nil
}

// A roundTripper is a line that sends one request at a time over an exchange. With a cookie jar it
// is a visitor.
type roundTripper struct {
	exchange
	target *Target
	take   func() Request
	// read reads what a successful answer says, and returns when it was answered, zero for now; nil
	// to read past it.
	read func(w *Work, r *http.Response) (answered time.Time, err error)
	jar  http.CookieJar
	kept *answerValues // nil if no request uses a value of an answer
	buf  []byte
}

// Connect makes the connection that the transport will ask for.
func (l *roundTripper) Connect(ctx context.Context) error { return l.connect(ctx) }

// Serve sends requests until no more are due.
func (l *roundTripper) Serve(ctx context.Context, w *Work) {
	serve(w, func() outcome {
		limited, cancel := l.target.limited(ctx, "answer")
		defer cancel()
		o := l.send(limited, w)
		if o.err != nil && limited.Err() != nil && ctx.Err() == nil {
			o.status, o.err = 0, context.Cause(limited)
		}
		return o
	})
}

func notFollowed(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// send sends a request and reads the whole answer.
func (l *roundTripper) send(ctx context.Context, w *Work) (o outcome) {
	request := l.take()
	o.group = request.group
	r := (&http.Request{
		Method: request.Method, URL: request.URL, Host: request.host(), Header: request.Header.Clone(),
	}).WithContext(ctx)
	if len(request.Body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(request.Body))
		r.ContentLength = int64(len(request.Body))
	}
	sent := time.Now()
	client := http.Client{Transport: l.exchange, Jar: l.jar, CheckRedirect: notFollowed}
	response, err := client.Do(r)
	if err != nil {
		// What net/http calls the end of a connection of HTTP/2; it does not export the second.
		if o.err = err; errors.Is(err, io.ErrUnexpectedEOF) || strings.HasSuffix(err.Error(), "client conn could not be established") {
			o.err = errEnded
		}
		return o
	}
	defer response.Body.Close()
	o.begins = time.Since(sent)
	if l.kept != nil {
		if o.err = l.kept.read(response); o.err != nil {
			return o
		}
	}
	o.status, o.err = response.StatusCode, l.target.unsuccessful(response.StatusCode)
	if l.read != nil && o.err == nil {
		body := &endedBody{ReadCloser: response.Body}
		response.Body = body
		if o.at, o.err = l.read(w, response); !body.ended {
			o.err = errors.Join(o.err, l.close()) // the connection carries no other request
		}
		return o
	}
	if l.target.Body != nil && o.err == nil {
		text, err := io.ReadAll(response.Body)
		if err != nil {
			o.status, o.err = 0, err
		} else {
			o.err = l.target.Body(text)
		}
		return o
	}
	if l.buf == nil {
		l.buf = make([]byte, 16<<10)
	}
	for {
		if _, err = response.Body.Read(l.buf); err == io.EOF {
			return o
		} else if err != nil {
			o.status, o.err = 0, err
			return o
		}
	}
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
