package apply

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// tap sees every request as it goes to the connection and every response as it comes from it, below
// all of client-go's negotiation. While it is off, it costs one atomic load a request.
type tap struct {
	next      http.RoundTripper
	recording atomic.Bool
	mu        sync.Mutex
	seen      []*exchange
}

// exchange is a request and its response.
type exchange struct {
	method, path  string
	sent, accepts string // Content-Type and Accept of the request
	received      string // Content-Type of the response
	proto         string
	status        int
	request       []byte
	response      []byte
}

// WrappedRoundTripper lets idle connections be closed through the tap.
func (t *tap) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.recording.Load() {
		return t.next.RoundTrip(r)
	}
	e := &exchange{method: r.Method, path: r.URL.Path, sent: r.Header.Get("Content-Type"), accepts: r.Header.Get("Accept")}
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		e.request = text
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	e.received, e.status, e.proto = response.Header.Get("Content-Type"), response.StatusCode, response.Proto
	e.response, err = io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(e.response))
	t.mu.Lock()
	t.seen = append(t.seen, e)
	t.mu.Unlock()
	return response, nil
}

// take returns the exchanges since the last call.
func (t *tap) take() []*exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := t.seen
	t.seen = nil
	return seen
}

// check returns an error for any part of an exchange that is not in the content type that its row
// claims.
func (e *exchange) check(m *media) error {
	about := e.method + " " + e.path
	switch {
	case e.status/100 != 2:
		return fmt.Errorf("%s: HTTP %d", about, e.status)
	case e.accepts != m.contentType:
		return fmt.Errorf("%s: the request accepts %q, want %q", about, e.accepts, m.contentType)
	case len(e.request) > 0 && e.sent != m.contentType:
		return fmt.Errorf("%s: the request is %q on the wire, want %q", about, e.sent, m.contentType)
	case len(e.request) > 0 && !m.begins(e.request):
		return fmt.Errorf("%s: the request says it is %q and begins with %q", about, e.sent, head(e.request))
	case len(e.request) == 0 && slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete}, e.method):
		return fmt.Errorf("%s: the request has no body", about)
	}
	got, _, err := mime.ParseMediaType(e.received)
	if err != nil {
		return fmt.Errorf("%s: the response's Content-Type %q: %w", about, e.received, err)
	}
	if got != m.contentType {
		return fmt.Errorf("%s: the response is %q on the wire, want %q", about, got, m.contentType)
	}
	if !m.begins(e.response) {
		return fmt.Errorf("%s: the response says it is %q and begins with %q", about, got, head(e.response))
	}
	return nil
}

func head(text []byte) string { return string(text[:min(len(text), 16)]) }

// methods returns the requests' methods, in order: "POST GET DELETE".
func methods(seen []*exchange) string {
	var all []string
	for _, e := range seen {
		all = append(all, e.method)
	}
	return strings.Join(all, " ")
}
