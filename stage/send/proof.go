package send

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"sync"
	"time"

	"postage/internal/service/greeter"
	"postage/internal/service/tlscert"
)

// handshakes are the TLS handshakes that the clients have seen.
type handshakes struct {
	mu      sync.Mutex
	n       int64
	resumed int64
	last    tls.ConnectionState
}

// add is a tls.Config.VerifyConnection.
func (h *handshakes) add(state tls.ConnectionState) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	if state.DidResume {
		h.resumed++
	}
	h.last = state
	return nil
}

// proofRounds is how many operations each lane does in the proof.
const proofRounds = 3

// checks says what Prove checks.
const checks = "every reply is the complete one to its request; by the server's own count connections were reused or new, and handshakes full or resumed, as the row says; protocol, TLS version and kind of certificate are those agreed on; what one end sent the other received"

// Prove does some operations with the same Run, and compares what both ends saw with the row's
// name.
func (in *instance) Prove(ctx context.Context) error {
	if err := in.warm(); err != nil {
		return err
	}
	before, err := in.server.Counters()
	if err != nil {
		return err
	}
	in.done.last, in.done.counted = before, in.done.begun
	if err := in.proofRun(ctx); err != nil {
		return err
	}
	look := in.settled
	if in.spec.reuse && in.loses() {
		look = in.atOnce
	}
	p := proof{in: in, before: before}
	seen := func() (c greeter.Counters, err error) {
		c, p.sent, p.received, err = look()
		return c, err
	}
	kept := int64(math.MaxInt64)
	if in.spec.reuse {
		kept = int64(len(in.clients))
	}
	p.after, in.done.replaced, err = in.transport.standing(kept, seen, func() error { return in.proofRun(ctx) })
	if err != nil {
		return err
	}
	for _, check := range []func() error{p.connections, p.protocol, p.tls, p.bytes} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// proofRun does the proof's operations.
func (in *instance) proofRun(ctx context.Context) (err error) {
	in.through(true)
	defer in.through(false)
	ops := proofRounds * in.spec.lanes()
	if in.network != nil {
		ops = in.spec.lanes()
	}
	patience := 30 * time.Second
	if in.network != nil {
		patience = 2 * time.Minute // 5 MB with 2% loss take about ten seconds on average
	}
	failed := make(chan error, 1)
	go func() { failed <- in.Run(ops) }()
	select {
	case err = <-failed:
	case <-time.After(patience):
		err = fmt.Errorf("%d operations did not end within %v", ops, patience)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return err
}

// warm does what comes before the repeated operations: it makes the connection that is kept, or
// gets the first session's ticket, which a network may lose.
func (in *instance) warm() error {
	for range 5 {
		if err := in.warmOnce(); err != nil || in.network == nil || in.ticketed() {
			return err
		}
	}
	return nil
}

// ticketed says whether all clients have a ticket, if that is how they continue sessions.
func (in *instance) ticketed() bool {
	for _, t := range in.targets {
		if t.spec.resume == resumeNo {
			return true
		}
		if _, has := t.tls.ClientSessionCache.Get(tlscert.ServerName); !has {
			return false
		}
	}
	return true
}

func (in *instance) warmOnce() error {
	for i := range in.spec.lanes() {
		in.done.begun++
		if err := in.call(i); err != nil {
			return in.explain(err)
		}
	}
	return nil
}

func (in *instance) through(proving bool) {
	for i := range in.lanes {
		in.lanes[i].through = proving
	}
}

// settled returns the server's counters, and the bytes that the clients had sent and received at
// that time. It waits until the server has read everything that was sent to it, or until nothing
// more has come for a while. QUIC sends by itself (acknowledgements, probes of the MTU), so that
// counts from different moments would not agree.
func (in *instance) settled() (c greeter.Counters, out, received int64, err error) {
	var last greeter.Counters
	patience := 256 * time.Millisecond
	if in.network != nil {
		patience = 8 * time.Second // what was lost several times is sent again after seconds
	}
	for wait := time.Millisecond; ; wait *= 2 {
		// With this order of questions, no end can have received what the other has not counted.
		_, received = in.bytes()
		if c, err = in.server.Counters(); err != nil {
			return c, 0, 0, err
		}
		out, _ = in.bytes()
		equal := c.WireIn == out && c.WireOut == received
		still := wait > 8*time.Millisecond && c.WireIn == last.WireIn && c.WireOut == last.WireOut && c.Early == last.Early
		if in.spec.resume == resumeEarly && c.Early < c.Conns-int64(len(in.lanes)) && wait <= patience {
			equal, still = false, false // some of it is not known yet
		}
		if equal && wait > time.Millisecond || still && !in.spec.reuse || wait > patience {
			return c, out, received, nil
		}
		last = c
		time.Sleep(wait)
	}
}

// loses says whether what a network loses is never received: TCP sends it again with the same
// bytes, QUIC in a new packet.
func (in *instance) loses() bool { return in.transport.quic && in.network != nil }

// atOnce is settled for a kept connection whose ends' counts need not agree: it does not wait until
// they do.
func (in *instance) atOnce() (c greeter.Counters, out, received int64, err error) {
	_, received = in.bytes()
	c, err = in.server.Counters()
	out, _ = in.bytes()
	return c, out, received, err
}

// proof is what both ends saw of the proof's operations.
type proof struct {
	in             *instance
	before, after  greeter.Counters
	sent, received int64 // bytes, by the clients
}

func (p *proof) connections() error {
	p.in.done.last = p.before
	if err := p.in.keptWord(p.after); err != nil {
		return err
	}
	if conns, clients := p.after.Conns-p.in.done.replaced, int64(len(p.in.clients)); p.in.spec.reuse && conns != clients {
		return fmt.Errorf("the server saw %d connections, want %d", conns, clients)
	}
	return nil
}

func (p *proof) protocol() error {
	if !p.in.transport.handshakeOnly && p.after.Proto != p.in.transport.version {
		return fmt.Errorf("the server saw requests of %q, want %q", p.after.Proto, p.in.transport.version)
	}
	if p.in.transport.quic && p.after.QUIC != "v1" {
		return fmt.Errorf("the server saw QUIC version %q, want v1", p.after.QUIC)
	}
	return nil
}

func (p *proof) tls() error {
	p.in.seen.mu.Lock()
	defer p.in.seen.mu.Unlock()
	if !p.in.spec.tls {
		if p.after.Handshakes != 0 || p.in.seen.n != 0 {
			return fmt.Errorf("the server saw %d TLS handshakes, want none", p.after.Handshakes)
		}
		return nil
	}
	if p.after.Handshakes != p.after.Conns {
		return fmt.Errorf("the server saw %d TLS handshakes on %d connections", p.after.Handshakes, p.after.Conns)
	}
	if p.in.seen.n != p.after.Handshakes || p.in.seen.resumed != p.after.Resumed {
		return fmt.Errorf("the clients saw %d TLS handshakes, %d of them resumed, the server %d and %d",
			p.in.seen.n, p.in.seen.resumed, p.after.Handshakes, p.after.Resumed)
	}
	state := p.in.seen.last
	if version := tls.VersionName(state.Version); state.Version != tls.VersionTLS13 || p.after.TLS != version {
		return fmt.Errorf("TLS is %s, at the server %s, want TLS 1.3", version, p.after.TLS)
	}
	if state.NegotiatedProtocol != p.in.transport.alpn || p.after.ALPN != p.in.transport.alpn {
		return fmt.Errorf("ALPN agreed on %q, want %q", state.NegotiatedProtocol, p.in.transport.alpn)
	}
	if len(state.PeerCertificates) == 0 {
		return fmt.Errorf("the server showed no certificate")
	}
	if kind := tlscert.KindOf(state.PeerCertificates[0]); kind != p.in.spec.cert {
		return fmt.Errorf("the certificate is %s, want %s", kind, p.in.spec.cert)
	}
	return p.resumption()
}

func (p *proof) resumption() error {
	made := p.after.Handshakes - p.before.Handshakes
	resumed, early := p.after.Resumed-p.before.Resumed, p.after.Early-p.before.Early
	want, wantEarly := int64(0), int64(0)
	switch p.in.spec.resume {
	case resumeYes:
		want = made
	case resumeEarly:
		want, wantEarly = made, made
	}
	if resumed != want {
		return fmt.Errorf("the server resumed %d of %d TLS sessions, want %d", resumed, made, want)
	}
	if early != wantEarly {
		return fmt.Errorf("the server took early data on %d of %d connections, want %d", early, made, wantEarly)
	}
	return nil
}

// bytes compares both ends' counts. On kept connections they are equal. When a connection is
// closed, something that nobody reads any more may be on its way, such as a session ticket or a
// window update; what a network loses of QUIC is not received, and sent again. Then neither end may
// have received more than the other sent.
func (p *proof) bytes() error {
	exact := p.in.spec.reuse && p.in.done.replaced == 0 && !p.in.loses()
	if exact && p.after.WireIn != p.sent || p.after.WireIn > p.sent {
		return fmt.Errorf("the clients sent %d bytes, the server received %d", p.sent, p.after.WireIn)
	}
	if exact && p.after.WireOut != p.received || p.received > p.after.WireOut {
		return fmt.Errorf("the server sent %d bytes, the clients received %d", p.after.WireOut, p.received)
	}
	size, answer := p.in.spec.size, max(p.in.spec.size, p.in.spec.answer)
	if n := p.in.done.begun; !p.in.transport.handshakeOnly && (p.sent < n*int64(size) || p.received < n*int64(answer)) {
		return fmt.Errorf("%d bytes sent and %d received cannot hold %d payloads of %d and %d", p.sent, p.received, n, size, answer)
	}
	return nil
}
