package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// roundTripper sends a request through net/http's interface, for HTTP/3.
type roundTripper struct {
	tr      http.RoundTripper
	request *Request
	buf     []byte
}

// Send sends the request and reads the answer to its end.
func (s *roundTripper) Send(ctx context.Context) error {
	r := (&http.Request{
		Method: s.request.Method, URL: s.request.URL, Host: s.request.host(), Header: s.request.Header,
	}).WithContext(ctx)
	if len(s.request.Body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(s.request.Body))
		r.ContentLength = int64(len(s.request.Body))
	}
	response, err := s.tr.RoundTrip(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if s.buf == nil {
		s.buf = make([]byte, 16<<10)
	}
	for {
		if _, err = response.Body.Read(s.buf); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}
