package webpush

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestPublicAddress(t *testing.T) {
	for text, want := range map[string]bool{
		"142.250.74.74": true, "17.188.0.1": true, "2a00:1450:4001::1": true, "64:ff9b::8.8.8.8": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.5.5": false, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00::1": false, "100.64.0.1": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
		"198.18.0.1": false, "192.0.2.1": false, "240.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::10.0.0.1": false, "64:ff9b::169.254.169.254": false,
		"5f00::1": false, "100::1": false, "100:0:0:1::1": false, "2002:7f00:1::": false, "2001:db8::1": false, "::127.0.0.1": false,
		"::ffff:0:127.0.0.1": false, "64:ff9b:1::7f00:1": false, "fec0::1": false, "4000::1": false, "3fff::1": false, "3ffe::1": true, // the last three as the registry of IPv6 has them
	} {
		if got := PublicAddress(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestPrivateAddressesAreRefused has a subscription name a server on this machine:
// by default no connection is made to it.
func TestPrivateAddressesAreRefused(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	var connections atomic.Int32
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	w := newWorkload(t)
	for _, url := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1), strings.Replace(server.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		_, err := w.client(t, Config{Retry: Retry{Attempts: 1}}).Send(t.Context(), subscriptionAt(t, url+"/x"), nil, Options{})
		refused, ok := asType[*AddressError](err)
		if !ok || !refused.Address.IsLoopback() {
			t.Errorf("%s: %v; want the address refused", url, err)
		}
	}
	if connections.Load() != 0 {
		t.Errorf("%d connections", connections.Load())
	}
	// The same may be allowed.
	transport := NewTransport(func(a netip.Addr) bool { return a.IsLoopback() })
	defer transport.CloseIdleConnections()
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if _, err := w.client(t, Config{Transport: transport}).Send(t.Context(), subscriptionAt(t, server.URL+"/x"), nil, Options{}); err != nil || requests.Load() != 1 {
		t.Errorf("allowed: %v, %d requests", err, requests.Load())
	}
}

// TestReplacedDialContext has transports that connect by a function of the caller's: the address is
// checked all the same, before anything is sent.
func TestReplacedDialContext(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	w := newWorkload(t)
	for name, dial := range map[string]func(ctx context.Context, network, address string) (net.Conn, error){
		"a dialer": (&net.Dialer{Timeout: time.Minute}).DialContext,
		"none":     nil,
		"no address": func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			return struct{ hidden }{hidden{c}}, err
		},
	} {
		for _, allowed := range []bool{false, true} {
			transport := NewTransport(func(netip.Addr) bool { return allowed })
			transport.DialContext = dial
			transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
			before := requests.Load()
			_, err := w.client(t, Config{Transport: transport, Retry: Retry{Attempts: 1}}).Send(t.Context(), subscriptionAt(t, server.URL+"/x"), nil, Options{})
			refused, ok := asType[*AddressError](err)
			switch {
			case allowed:
				if err != nil || requests.Load() != before+1 {
					t.Errorf("%s, allowed: %v", name, err)
				}
			case !ok || refused.Address.IsLoopback() == (name == "no address") || !errors.Is(err, Invalid) || requests.Load() != before:
				t.Errorf("%s: %v, %d requests; want the address refused", name, err, requests.Load()-before)
			}
			transport.CloseIdleConnections()
		}
	}
}

// hidden is a connection that does not say what it is connected to.
type hidden struct{ net.Conn }

func (hidden) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "tunnel", Net: "unix"} }

// TestRebinding runs a name server that gives a public address the first time and
// this machine's every time after: a client that checks the name first and connects
// afterwards would be fooled.
func TestRebinding(t *testing.T) {
	var requests, lookups atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	names := nameServer(t, func() [4]byte {
		if lookups.Add(1) == 1 {
			return [4]byte{93, 184, 216, 34}
		}
		return [4]byte{127, 0, 0, 1}
	})
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", names)
	}}
	if addresses, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.test"); err != nil || !PublicAddress(addresses[0]) {
		t.Fatalf("the first look-up: %v, %v", addresses, err)
	}
	old := net.DefaultResolver
	net.DefaultResolver = resolver
	defer func() { net.DefaultResolver = old }()
	w := newWorkload(t)
	client := w.client(t, Config{Retry: Retry{Attempts: 1}})
	_, err = client.Send(t.Context(), subscriptionAt(t, fmt.Sprintf("https://rebind.test:%s/x", port)), nil, Options{})
	if _, ok := asType[*AddressError](err); !ok || requests.Load() != 0 || lookups.Load() < 2 {
		t.Errorf("%v; %d look-ups, %d requests", err, lookups.Load(), requests.Load())
	}
}

// nameServer answers every question for an address.
func nameServer(t *testing.T, address func() [4]byte) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			end := 12 // RFC 1035 section 4.1: a header, then the name that is asked for, its type and class
			for end < n && buffer[end] != 0 {
				end += 1 + int(buffer[end])
			}
			if end += 5; end > n {
				continue
			}
			answer := append([]byte{buffer[0], buffer[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, buffer[12:end]...)
			if buffer[end-3] == 1 { // type A
				ip := address()
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ip[0], ip[1], ip[2], ip[3])
			}
			conn.WriteTo(answer, from) //nolint:errcheck // it asks again
		}
	}()
	return conn.LocalAddr().String()
}

// TestIdleConnectionsAreBounded sends to more origins than connections are kept.
func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	var open, most atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			n := open.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	server.StartTLS()
	defer server.Close()
	all := func(netip.Addr) bool { return true }
	transport := NewTransport(all)
	defer transport.CloseIdleConnections()
	g := &guard{transport: transport, allow: all}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return g.dial(ctx, network, server.Listener.Addr().String()) // every host is this server
	}
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	transport.TLSClientConfig.ServerName = "example.com"
	client := newWorkload(t).client(t, Config{Transport: transport})
	for i := range 2 * maxConnections {
		if _, err := client.Send(t.Context(), subscriptionAt(t, fmt.Sprintf("https://origin%d.example/x", i)), nil, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := most.Load(); n > maxConnections+10 { // closing takes a moment to be seen by the server
		t.Errorf("%d connections to %d origins", n, 2*maxConnections)
	}
	for deadline := time.Now().Add(30 * time.Second); g.open.Load() != 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		transport.CloseIdleConnections() // again, as the last stream may not have ended
	}
	if n := g.open.Load(); n != 0 {
		t.Errorf("%d connections are counted as open after all were closed", n)
	}
}
