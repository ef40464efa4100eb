package webpush

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
)

// requestParts is what a request points at, in one allocation.
type requestParts struct {
	url    url.URL
	body   requestBody
	sent   sentBody
	values [6]string
}

// requestBody is a body in memory that tells how far it was read.
type requestBody struct {
	reader bytes.Reader
	sent   *sentBody
}

func (b *requestBody) Read(p []byte) (int, error) {
	if b.sent.stopped.Load() {
		return 0, errStopped
	}
	n, err := b.reader.Read(p)
	if b.reader.Len() == 0 {
		b.sent.whole.Store(true)
	}
	return n, err
}

func (*requestBody) Close() error { return nil }

// sentBody records how far a request's body and its copies were read.
type sentBody struct{ whole, stopped atomic.Bool }

// stop ends all reading and reports whether the body was read to its end before.
func (s *sentBody) stop() bool {
	s.stopped.Store(true)
	return s.whole.Load()
}

var errStopped = errors.New("webpush: the request has ended")

// newRequest builds the POST that http.NewRequest would, without parsing the URL again: its own
// copy of the URL, header values that share one array (each clipped, so that appending to one
// cannot touch another), body, length and GetBody.
func newRequest(ctx context.Context, sub Subscription, h Header, body []byte) (*http.Request, *sentBody) {
	parts := &requestParts{
		url:    sub.requestURL(),
		values: [...]string{h.Authorization, "aes128gcm", h.ContentType, h.TTL, h.Urgency, h.Topic},
	}
	parts.body.reader.Reset(body)
	parts.body.sent = &parts.sent
	v := &parts.values
	header := make(http.Header, len(v))
	header["Authorization"] = v[0:1:1]
	if len(body) > 0 {
		header["Content-Encoding"] = v[1:2:2]
		header["Content-Type"] = v[2:3:3]
	}
	header["Ttl"] = v[3:4:4] // TTL, in the form that http.Header gives every name
	if h.Urgency != "" {
		header["Urgency"] = v[4:5:5]
	}
	if h.Topic != "" {
		header["Topic"] = v[5:6:6]
	}
	for name, values := range h.Extra {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	r := http.Request{
		Method:        http.MethodPost,
		URL:           &parts.url,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          &parts.body,
		ContentLength: int64(len(body)),
		Host:          parts.url.Host,
		GetBody: func() (io.ReadCloser, error) {
			again := &requestBody{sent: &parts.sent}
			again.reader.Reset(body)
			return again, nil
		},
	}
	if len(body) == 0 { // then a body of length 0 is one of unknown length
		parts.sent.whole.Store(true)
		r.Body, r.GetBody = http.NoBody, func() (io.ReadCloser, error) { return http.NoBody, nil }
	}
	return r.WithContext(ctx), &parts.sent
}
