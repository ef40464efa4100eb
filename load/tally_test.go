package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"postage/internal/service/greeter"
	"postage/internal/service/tlscert"
)

// An error's reason is the innermost error. What differs from one request to the next is no part of it.
func TestReason(t *testing.T) {
	t.Parallel()
	expired := func(now string) error {
		return fmt.Errorf("tls: %w", x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time " + now + " is after 2026-01-02T03:04:05Z"})
	}
	for err, want := range map[error]string{
		&url.Error{Op: "Get", URL: "http://h/17", Err: errEnded}:              errEnded.Error(),
		fmt.Errorf("dial 127.0.0.1:17: %w", errors.New("connection refused")): "connection refused",
		expired("2026-11-23T20:00:01Z"):                                       "x509: certificate has expired or is not yet valid: current time … is after …",
		expired("2026-11-23T20:00:02+01:00"):                                  "x509: certificate has expired or is not yet valid: current time … is after …",
		errors.New("status 503"):                                              "status 503",
		errors.New("read udp [::]:41822"):                                     "read udp [::]:…",
		errors.New("no answer within 30s"):                                    "no answer within 30s",
		errors.New("id 6ba7b810-9dad-11d1-80b4-00c04fd430c8"):                 "id …",
	} {
		if got := reason(err); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Failures are counted by their reason, and there are never more than a few reasons.
func TestReasonsAreFew(t *testing.T) {
	t.Parallel()
	n := 0
	r := measured(t, Plan{Pacer: Constant{10000, 100 * time.Millisecond}, Lines: lines(senderFunc(func(context.Context) error {
		n++
		if n%2 == 0 {
			return fmt.Errorf("order %d-7f3a90c1b2 is not known", 100000+n)
		}
		return errors.New(strings.Repeat("y", n))
	}))})
	if len(r.Errors) > mostReasons+1 || r.Done != 1000 || r.Failed() != 1000 || r.Errors["order …-… is not known"] != 500 {
		t.Errorf("%d reasons for %d failures", len(r.Errors), r.Failed())
	}
}

// Counting for ten thousand connections does not take gigabytes.
func TestCountingIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	all := make([]Line, 10_000)
	for i := range all {
		all[i] = senderFunc(func(context.Context) error { return nil })
	}
	runtime.ReadMemStats(&before)
	r, err := Run(t.Context(), Plan{Pacer: Constant{1000, 100 * time.Millisecond}, Lines: all})
	runtime.ReadMemStats(&after)
	if err != nil || r.Done != 100 {
		t.Fatal(err, r.Done)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("%d MB for 10,000 lines", took>>20)
	}
}

// One microsecond and one and a half are told apart.
func TestResolution(t *testing.T) {
	t.Parallel()
	h := newLatencies()
	record(h, 1300*time.Nanosecond)
	if got := h.ValueAtQuantile(50); got < 1298 || got > 1302 {
		t.Errorf("1300 ns are %d", got)
	}
}

// inUse returns the memory in use, in bytes.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// A kept connection takes at most 40 KB, whatever its protocol, with TLS or without.
func TestMemoryPerConnection(t *testing.T) {
	pair := certificate(t)
	const conns = 400
	for _, proto := range []string{"http1", "http2", "http2 over TLS"} {
		config := greeter.Config{Server: "nethttp", Body: "json"}
		target := &Target{Conns: conns, Streams: 1, Timeout: time.Minute, Request: Request{
			Method: http.MethodPost, Body: []byte(`{"secure":"raw"}`), URL: &url.URL{Scheme: "http", Path: "/"},
		}}
		var secure bool
		if target.Proto, _, secure = strings.Cut(proto, " over "); secure {
			config.Cert, target.Request.URL.Scheme = pair, "https"
			target.TLS = &tls.Config{RootCAs: pair.Pool(), ServerName: tlscert.ServerName}
		}
		server := greet(t, config)
		target.Request.URL.Host = server.Addr
		before := inUse()
		pool, err := Open(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		// All of them have had requests, and none has one under way, however busy the machine.
		// net/http's server gives a connection up whose SETTINGS it has not read in 2 s: a busy
		// one does that, and then the connection is made again.
		for again := 9; ; again-- {
			r, err := Run(t.Context(), Plan{Pacer: Constant{2000, 400 * time.Millisecond}, Lines: pool.Lines})
			if err == nil && r.Failed() == 0 {
				break
			} else if err != nil || again == 0 || r.Errors[errEnded.Error()] != r.Failed() {
				t.Fatalf("%v, %+v", err, r)
			}
		}
		kept := inUse()
		// The race detector empties sync.Pools at random, so that memory is not the same there.
		if each := (float64(kept) - float64(before)) / conns; each > 40<<10 && !raceEnabled {
			t.Errorf("%s: %.0f KB a connection", proto, each/1024)
		} else {
			t.Logf("%s: %.1f KB a connection", proto, each/1024)
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}
