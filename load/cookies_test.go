package load

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// The server counts each visitor's requests in a cookie. Every visitor keeps its own count, by
// every protocol and from one run to the next.
func TestCookies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		proto, scheme string
		visitors      int
	}{{"http1", "http", 3}, {"http1", "https", 3}, {"http2", "http", 6}, {"http2", "https", 6}} {
		t.Run(c.proto+"/"+c.scheme, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{} // requests by visitor, as their cookies say
			conns := map[string]bool{}
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				conns[r.RemoteAddr] = true
				if name, password, _ := r.BasicAuth(); name != "ann" || password != "secret" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				id := ""
				if c, err := r.Cookie("id"); err == nil {
					id = c.Value
				} else {
					id = fmt.Sprint("visitor", len(seen))
					http.SetCookie(w, &http.Cookie{Name: "id", Value: id})
				}
				if seen[id] > 0 {
					count, err := r.Cookie("count")
					if err != nil || count.Value != fmt.Sprint(seen[id]) {
						w.WriteHeader(http.StatusConflict)
						return
					}
				}
				seen[id]++
				http.SetCookie(w, &http.Cookie{Name: "count", Value: fmt.Sprint(seen[id])})
			})
			server := httptest.NewUnstartedServer(handler)
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetHTTP1(true)
			server.Config.Protocols.SetHTTP2(true)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.EnableHTTP2 = true
			if c.scheme == "https" {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			u := parsed(t, server.URL)
			header := http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("ann:secret"))}}
			pool, err := Open(t.Context(), &Target{Proto: c.proto, Cookies: true, Conns: 3, Streams: 2, TLS: &tls.Config{InsecureSkipVerify: true},
				Request: Request{URL: u, Header: header}})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			if len(pool.Lines) != c.visitors {
				t.Errorf("%d visitors", len(pool.Lines))
			}
			for range 2 {
				r, err := Run(t.Context(), Plan{Pacer: Constant{200, 300 * time.Millisecond}, Lines: pool.Lines})
				if err != nil || r.Failed() > 0 || r.Done != 60 {
					t.Fatalf("%v, %d, %v", err, r.Done, r.Errors)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total := 0
			for _, n := range seen {
				total += n
			}
			if total != 120 || len(seen) > c.visitors || len(conns) > 3 {
				t.Errorf("%d requests of %d visitors over %d connections: %v", total, len(seen), len(conns), seen)
			}
		})
	}
	_, err := Open(t.Context(), &Target{Proto: "grpc", Cookies: true, Conns: 1, Streams: 1, Request: Request{URL: parsed(t, "http://h")}})
	if err == nil {
		t.Error("gRPC has no cookies")
	}
}

// A name and a password in the URL are sent by every protocol.
func TestBasicAuth(t *testing.T) {
	t.Parallel()
	server := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "ann" || password != "se:cret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	u := parsed(t, "http://ann:se%3Acret@"+server.Listener.Addr().String())
	for _, cookies := range []bool{false, true} {
		for _, proto := range []string{"http1", "http2"} {
			wantOnly(t, sent(t, u, 5, 1, func(target *Target) { target.Proto, target.Cookies = proto, cookies }), 0, "")
		}
	}
}
