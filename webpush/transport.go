package webpush

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxConnections is how many connections are kept before the idle ones are closed.
const maxConnections = 256

// NewTransport makes the transport that a [Client] makes for itself, to be changed and given as
// [Config.Transport]: with a certificate authority of your own, for example.
//
// Endpoints come from strangers, and may name hosts of your own network. Before a connection is
// made to a host that [KnownPushService] does not know, its address is given to allow; nil is
// [PublicAddress]. It is the address of this very connection, so a name that resolves to another
// address the second time gains nothing. Where the environment names a proxy, the proxy resolves
// the names, and has to do the refusing.
//
// With a DialContext of your own the check comes after connecting, before anything is sent: of the
// address that the connection says it has, or the zero Addr if it says none. Only a DialTLSContext
// of your own does without. A Clone connects as the transport that it was made of.
//
// To one host there are at most 64 connections, which matters with HTTP/1.1: set MaxConnsPerHost to
// [Limits.Concurrency] if that is more. Beyond 256 connections those that are idle are closed.
func NewTransport(allow func(netip.Addr) bool) *http.Transport {
	if allow == nil {
		allow = PublicAddress
	}
	g := &guard{allow: allow, proxies: environmentProxies(), dials: make(map[string]*dial)}
	g.transport = &http.Transport{
		Proxy:                  g.proxy,
		DialContext:            g.dial,
		DialTLSContext:         g.dialTLS,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxConnections,
		MaxIdleConnsPerHost:    maxConnections,
		MaxConnsPerHost:        defaultConcurrency, // without it, a dial that ends too late for its request is one too many
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	return g.transport
}

// PublicAddress reports whether an address is a public internet address: not loopback, private (RFC
// 1918, RFC 4193), shared (RFC 6598), link-local, multicast, unspecified, for benchmarks or
// documentation, or reserved; nor one of those within an IPv6 address (RFC 6052, RFC 3056, RFC
// 4380).
func PublicAddress(a netip.Addr) bool {
	a = a.Unmap()
	holds := func(p netip.Prefix) bool { return p.Contains(a) }
	if a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() || slices.ContainsFunc(notPublic, holds) {
		return false
	}
	if nat64.Contains(a) {
		b := a.As16()
		return PublicAddress(netip.AddrFrom4([4]byte(b[12:])))
	}
	return a.Is4() || global.Contains(a)
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	global = netip.MustParsePrefix("2000::/3") // all that IPv6 addresses are given out of (RFC 4291)
)

// notPublic has the remaining prefixes of the registries of RFC 6890.
var notPublic = func() (prefixes []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}()

// An AddressError is a connection refused because of the address that an endpoint's
// host was resolved to. The message's outcome is [Invalid].
type AddressError struct {
	Address netip.Addr // the zero Addr if the endpoint names the proxy, or a connection does not say its address
	peer    string     // what it says in place of it
}

func (e *AddressError) Error() string {
	switch {
	case e.peer != "":
		return fmt.Sprintf("webpush: a connection to %q, which is no IP address: refused (see NewTransport)", e.peer)
	case !e.Address.IsValid():
		return "webpush: the proxy itself is no push service: refused"
	}
	return fmt.Sprintf("webpush: %s is not a public address: refused (see NewTransport)", e.Address)
}

// A guard makes the connections of a transport.
type guard struct {
	transport *http.Transport
	allow     func(netip.Addr) bool
	proxies   map[string]bool // host and port of each
	open      atomic.Int64

	mu    sync.Mutex
	dials map[string]*dial // under way, by host and port
}

// environmentProxies are the proxies that http.ProxyFromEnvironment may name; it reads the
// environment once.
func environmentProxies() map[string]bool {
	proxies := make(map[string]bool)
	for _, scheme := range []string{"https", "http"} {
		if u, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "push.invalid"}}); u != nil && err == nil {
			proxies[hostPort(u)] = true
		}
	}
	return proxies
}

// hostPort is what http.Transport dials for a URL.
func hostPort(u *url.URL) string {
	usual := map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual, "80"))
}

// proxy refuses an endpoint that is the proxy's own address and would be connected to without it:
// dial could not tell it from the proxy.
func (g *guard) proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if err == nil && u == nil && g.proxies[hostPort(r.URL)] {
		if a, err := netip.ParseAddr(r.URL.Hostname()); err != nil || !g.allow(a.Unmap()) {
			return nil, &AddressError{Address: a.Unmap()}
		}
	}
	return u, err
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if g.strange(address) {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error { return g.check(address) }
	}
	if g.open.Load() >= maxConnections {
		g.transport.CloseIdleConnections()
	}
	inner, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newConn(inner, &g.open), nil
}

// strange reports whether a host and port are neither a proxy nor a push service that is known.
func (g *guard) strange(address string) bool {
	host, port, err := net.SplitHostPort(address)
	return err != nil || !g.proxies[address] && (port != "443" || !KnownPushService("https://"+host))
}

// check is given the address and port that is, or is about to be, connected to.
func (g *guard) check(address string) error {
	a, err := netip.ParseAddrPort(address)
	if g.allow(a.Addr().Unmap()) {
		return nil
	}
	refused := &AddressError{Address: a.Addr().Unmap()}
	if err != nil {
		refused.peer = address
	}
	return refused
}

// dialTLS makes one connection to an address at a time. When a server ends an HTTP/2 connection,
// net/http dials for each request that waits, and gives all of them the first connection that is
// there. If that speaks HTTP/1.1, or failed, each request needs its own.
func (g *guard) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	other, mine := g.dials[address], &dial{done: make(chan struct{})}
	if other == nil {
		g.dials[address] = mine
	}
	g.mu.Unlock()
	if other != nil {
		if err := other.wait(ctx); err != nil {
			return nil, err
		}
		return g.handshake(ctx, network, address)
	}
	conn, err := g.handshake(ctx, network, address)
	if outer, ok := conn.(*tls.Conn); ok {
		mine.shared = outer.ConnectionState().NegotiatedProtocol == "h2"
	}
	g.mu.Lock()
	delete(g.dials, address)
	g.mu.Unlock()
	close(mine.done)
	return conn, err
}

// A dial is a connection that is being made.
type dial struct {
	done   chan struct{}
	shared bool // by HTTP/2; set when it is done
}

// wait returns nil if the caller needs a connection of its own. Otherwise its request is long on
// its way over the other connection when wait fails, and nobody sees the error.
func (d *dial) wait(ctx context.Context) error {
	select {
	case <-d.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !d.shared {
		return nil
	}
	select {
	case <-time.After(time.Second):
		return errShared
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errShared = errors.New("webpush: another connection to this host was to be used, and did not come: try again")

// handshake connects by the transport's DialContext, which a caller may have replaced since.
func (g *guard) handshake(ctx context.Context, network, address string) (net.Conn, error) {
	connect := g.transport.DialContext
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	inner, err := connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if g.strange(address) {
		err = g.check(inner.RemoteAddr().String())
	}
	config := g.transport.TLSClientConfig.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	outer := tls.Client(inner, config)
	if d := g.transport.TLSHandshakeTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	if err == nil {
		err = outer.HandshakeContext(ctx)
	}
	if err != nil {
		inner.Close()
		return nil, err
	}
	return outer, nil
}
