package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// openExchanges makes lines of net/http, for cookies and for what is expected of bodies, and where
// there are no loops.
func openExchanges(_ context.Context, t *Target, p *Pool) error {
	if !strings.HasPrefix(t.Proto, "http") {
		return errors.New("cookies, and what is expected of bodies, work with http1 and http2 only")
	}
	return p.addExchanges(t, nil)
}

// addExchanges adds a line for each request that may be under way at a time. Each line has read.
func (p *Pool) addExchanges(t *Target, read func(*Work, *http.Response) (answered time.Time, err error)) error {
	take, users := inTurn(t.Requests), 1
	if t.Proto == "http2" {
		users = t.Streams
	}
	for range t.Conns {
		conn := newClientConn(t)
		p.closers = append(p.closers, conn.close)
		for range users {
			line := &roundTripper{conn: conn, target: t, take: take, read: read}
			if t.Cookies {
				line.take = inTurn(t.Requests) // each visitor does all of them in order
				line.jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
				if t.linked() {
					line.kept = &answerValues{json: map[string]any{}, header: http.Header{}, cookie: map[string]string{}}
				}
			}
			p.Lines = append(p.Lines, line)
		}
	}
	return nil
}

// A roundTripper is a line that sends one request at a time over a connection that others may share.
// With a cookie jar it is a visitor.
type roundTripper struct {
	conn   *clientConn
	target *Target
	take   func() Request
	// read reads what a successful answer says, and returns when it was answered, zero for now; nil
	// to read past it.
	read func(w *Work, r *http.Response) (answered time.Time, err error)
	jar  http.CookieJar
	kept *answerValues // nil if no request uses a value of an answer
}

func (l *roundTripper) Connect(ctx context.Context) error {
	_, err := l.conn.get(ctx)
	return err
}

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

func (l *roundTripper) send(ctx context.Context, w *Work) (o outcome) {
	request := l.take()
	if l.kept != nil {
		request = l.kept.completed(request)
	}
	r := (&http.Request{
		Method: request.Method, URL: request.URL, Host: request.host(), Header: request.Header.Clone(),
	}).WithContext(ctx)
	if len(request.Body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(request.Body))
		r.ContentLength = int64(len(request.Body))
	}
	sent := time.Now()
	client := http.Client{Transport: l.conn, Jar: l.jar, CheckRedirect: notFollowed}
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
		if o.at, o.err = l.read(w, response); o.err != nil || l.target.Messages > 0 {
			o.err = errors.Join(o.err, l.conn.close()) // what is left of the stream is not read
		}
		return o
	}
	var text bytes.Buffer
	body := io.Discard
	if l.target.Body != nil && o.err == nil {
		body = &text
	}
	if _, err := io.Copy(body, response.Body); err != nil {
		o.status, o.err = 0, err
	} else if body == &text {
		o.err = l.target.Body(text.Bytes())
	}
	return o
}
