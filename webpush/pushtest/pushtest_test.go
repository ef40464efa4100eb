package pushtest_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"postage/webpush/pushtest"
)

// TestServiceChecks sends requests that a real push service refuses.
func TestServiceChecks(t *testing.T) {
	service := pushtest.NewServer(pushtest.Discard()) // without tokens, which the others' tests cover
	defer service.Close()
	strict := pushtest.NewServer()
	defer strict.Close()
	record := make([]byte, 86+17)
	copy(record[16:], "\x00\x00\x10\x00\x41\x04")
	good := map[string]string{"TTL": "60", "Content-Encoding": "aes128gcm"}
	for _, c := range []struct {
		name    string
		service *pushtest.Server
		method  string
		path    string
		change  map[string]string
		body    []byte
		want    int
	}{
		{"good", service, "POST", "", nil, record, 201},
		{"no token", strict, "POST", "", nil, record, 401},
		{"bad token", strict, "POST", "", map[string]string{"Authorization": "vapid t=a.b.c, k=AAAA"}, record, 403},
		{"other scheme", strict, "POST", "", map[string]string{"Authorization": "Bearer x"}, record, 401},
		{"GET", service, "GET", "", nil, nil, 405},
		{"unknown", service, "POST", "/push/nobody", nil, record, 404},
		{"no TTL", service, "POST", "", map[string]string{"TTL": ""}, record, 400},
		{"TTL", service, "POST", "", map[string]string{"TTL": "-1"}, record, 400},
		{"urgency", service, "POST", "", map[string]string{"Urgency": "extreme"}, record, 400},
		{"topic", service, "POST", "", map[string]string{"Topic": "a b"}, record, 400},
		{"encoding", service, "POST", "", map[string]string{"Content-Encoding": "aesgcm"}, record, 415},
		{"too long", service, "POST", "", nil, append(record, make([]byte, 4096)...), 413},
		{"too short", service, "POST", "", nil, record[:100], 400},
		{"record size", service, "POST", "", nil, append(append([]byte(nil), record[:16]...), append([]byte{0, 0, 0, 17}, record[20:]...)...), 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := c.service.Subscribe("").Endpoint()
			if c.path != "" {
				url = c.service.URL + c.path
			}
			request, err := http.NewRequestWithContext(t.Context(), c.method, url, bytes.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			for _, fields := range []map[string]string{good, c.change} {
				for name, value := range fields {
					request.Header.Set(name, value)
				}
			}
			client := &http.Client{Transport: c.service.Transport()}
			defer client.CloseIdleConnections()
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != c.want {
				t.Errorf("%d, want %d", response.StatusCode, c.want)
			}
		})
	}
	if service.Accepted() != 1 || !strings.HasPrefix(service.URL, "https://") {
		t.Errorf("%d accepted by %s", service.Accepted(), service.URL)
	}
}

// TestNoAnswer has a client that waits no longer, and yet reads on: what never answers says nothing
// to it. net/http's client reads on for a moment, and took the answer for one in time.
func TestNoAnswer(t *testing.T) {
	for name, fault := range map[string]pushtest.Fault{"stall": pushtest.Stall(), "slow": pushtest.Slow(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			service := pushtest.NewServer(pushtest.WithHTTP1(), pushtest.Always(fault))
			defer service.Close()
			conn, err := tls.Dial("tcp", strings.TrimPrefix(service.URL, "https://"), service.Transport().TLSClientConfig)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST /push/x HTTP/1.1\r\nHost: pushtest\r\nContent-Length: 0\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(conn); len(text) > 0 {
				t.Errorf("answers %q (%v)", text, err)
			}
		})
	}
}
