package webpush

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
)

// requestParts is what a request points at, in one allocation.
type requestParts struct {
	url    url.URL
	body   requestBody
	values [6]string
}

// requestBody is a bytes.Reader that can be closed.
type requestBody struct{ bytes.Reader }

func (*requestBody) Close() error { return nil }

// newRequest builds the POST that http.NewRequest would, without parsing the
// URL again: its own copy of the URL, header values that share one array (each
// clipped, so that appending to one cannot touch another), body, length and
// GetBody.
func newRequest(ctx context.Context, sub *subscription, h Header, body []byte) *http.Request {
	parts := &requestParts{
		url:    sub.url,
		values: [...]string{h.Authorization, "aes128gcm", h.ContentType, h.TTL, h.Urgency, h.Topic},
	}
	parts.body.Reset(body)
	v := &parts.values
	header := make(http.Header, len(v))
	header["Authorization"] = v[0:1:1]
	header["Content-Encoding"] = v[1:2:2]
	header["Content-Type"] = v[2:3:3]
	header["Ttl"] = v[3:4:4] // TTL, in the form that http.Header gives every name
	if h.Urgency != "" {
		header["Urgency"] = v[4:5:5]
	}
	if h.Topic != "" {
		header["Topic"] = v[5:6:6]
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
			again := new(requestBody)
			again.Reset(body)
			return again, nil
		},
	}
	return r.WithContext(ctx)
}
