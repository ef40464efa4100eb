package send

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/internal/sys/link"
	"postage/lab"
)

// needsNetwork skips a test where no network is possible.
func needsNetwork(t *testing.T) {
	t.Helper()
	l, err := link.Open(t.Context(), link.Spec{})
	if errors.Is(err, link.ErrNotPossible) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// over puts a network under the instances that the test opens, and is a spec for answers over it.
func linked(t *testing.T, text string, answer int) spec {
	t.Helper()
	t.Setenv(linkVariable, text)
	s := fixed()
	s.answer, s.inflight, s.conns = answer, 1, 1
	return s
}

// Every contender proves itself over a network with losses and counts what the network does: new
// connections, and with POSTAGE_LONG kept ones, with one request and ten at a time.
func TestNetworkProves(t *testing.T) {
	needsNetwork(t)
	names := []string{"slice=resume/tls=on/reuse=no/cert=ecdsa-p256"}
	if os.Getenv("POSTAGE_LONG") != "" {
		names = append(names, "slice=answer/tls=on/reuse=yes/answer=1k/inflight=1", "slice=answer/tls=on/reuse=yes/answer=1k/inflight=10")
	}
	cases := Suite().Made(lab.Choices{"answer": {"1k"}})
	t.Setenv(linkVariable, "rtt=1ms,loss=2%,rate=100mbit")
	for _, name := range names {
		i := slices.IndexFunc(cases, func(c lab.Case) bool { return c.Name == "Send/"+name })
		if i < 0 {
			t.Fatalf("there is no case %s", name)
		}
		for _, contender := range cases[i].Contenders {
			t.Run(name+"/"+contender.Name, func(t *testing.T) {
				if contender.NotPossible != "" {
					t.Skip("not possible: " + contender.NotPossible)
				}
				prove(t, t.Context(), contender)
			})
		}
	}
}

// fastest is how long the fastest of some operations takes. On a busy machine there are up to 30,
// until one is within a bound.
func fastest(t *testing.T, tr *transport, s spec, operations int, bound time.Duration) time.Duration {
	t.Helper()
	in, err := newInstance(t.Context(), tr, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := in.Prove(t.Context()); err != nil {
		t.Fatal(err)
	}
	least := time.Hour
	for i := 0; i < operations || i < 30 && least > bound; i++ {
		begun := time.Now()
		if err := in.Run(1); err != nil {
			t.Fatal(err)
		}
		least = min(least, time.Since(begun))
	}
	return least
}

// A small answer comes after the round trips of its connection's handshake and one for the request:
// TCP 1 and TLS 1.3 1, with tickets too; QUIC 1; with 0-RTT none. grpc-go needs one more: it waits
// for the server's SETTINGS, which are sent when the handshake is done.
func TestRoundTrips(t *testing.T) {
	needsNetwork(t)
	const rtt = 100 * time.Millisecond
	for _, c := range []struct {
		transport *transport
		reuse     bool
		resume    resume
		trips     int
	}{
		{netHTTP1(), true, resumeNo, 1}, {netHTTP2(), true, resumeNo, 1}, {quicHTTP3(), true, resumeNo, 1}, {grpcGo(), true, resumeNo, 1}, {connectProto("http2"), true, resumeNo, 1},
		{netHTTP1(), false, resumeNo, 3}, {netHTTP2(), false, resumeNo, 3}, {connectProto("http2"), false, resumeNo, 3}, {grpcGo(), false, resumeNo, 4},
		{netHTTP1(), false, resumeYes, 3}, {netHTTP2(), false, resumeYes, 3}, {grpcGo(), false, resumeYes, 4},
		{quicHTTP3(), false, resumeNo, 2}, {quicHTTP3(), false, resumeYes, 2}, {quicHTTP3(), false, resumeEarly, 1},
	} {
		s := linked(t, "rtt="+rtt.String(), 1<<10)
		s.reuse, s.resume = c.reuse, c.resume
		operations, least := 2, time.Duration(c.trips)*rtt
		bound := time.Hour
		switch os.Getenv("POSTAGE_LONG") {
		case "":
		case "hours": // on an idle machine
			operations, bound = 5, least+least*3/100
		default:
			operations, bound = 5, least+rtt
		}
		got := fastest(t, c.transport, s, operations, bound)
		beyond := float64(got)/float64(least) - 1
		t.Logf("%s reuse=%s resume=%s: %v, %d round trips %+.1f%%", c.transport.name, yesNo(c.reuse), c.resume, got.Round(10*time.Microsecond), c.trips, 100*beyond)
		if beyond < 0 || got > bound { // it cannot come sooner
			t.Errorf("%s reuse=%s resume=%s: an operation takes %v, want %d round trips of %v", c.transport.name, yesNo(c.reuse), c.resume, got, c.trips, rtt)
		}
	}
}

// --link is for every row of the stage, and they say so.
func TestLinkFlag(t *testing.T) {
	needsNetwork(t)
	suite := Suite()
	use := new(linkFlag)
	for text, want := range map[string]string{"rtt=-1": "want a round-trip time", "loss=2": "from 0 to 0.5", "": "want rtt, loss"} {
		if err := use.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := use.Set("rtt=20ms,loss=1%"); err != nil {
		t.Fatal(err)
	}
	entries, err := lab.Select([]lab.Suite{suite}, []string{"Send/slice=tls"})
	if err != nil {
		t.Fatal(err)
	}
	c := &lab.Choice{Entries: entries}
	if err := use.choose(c); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Entries {
		if e.Case.Name != "Send/slice=tls/reuse=yes/size=hello" || e.Contender.Settings["link"] != "rtt=20ms,loss=1%" || e.Case.Service == nil {
			t.Errorf("%s: %v", e.Row(), e.Contender.Settings)
		}
	}
	none := &linkFlag{text: use.text, spec: use.spec}
	wantError(t, none.choose(&lab.Choice{}), "none of the rows")
	running, err := c.Entries[0].Case.Service.Start(context.Background(), t.Output())
	if err != nil || len(running.Environment) != 1 || running.Environment[0] != "POSTAGE_LINK=rtt=20ms,loss=1%" || running.Stop() != nil {
		t.Errorf("%+v, %v", running, err)
	}
	if got := fastest(t, netHTTP2(), linked(t, "rtt=20ms,loss=0%", 0), 1, time.Hour); got < 20*time.Millisecond {
		t.Errorf("over a link of 20 ms an operation takes %v", got)
	}
}

// Where a network is not possible, its rows are, too, with the reason.
func TestNotPossible(t *testing.T) {
	running, err := (&linkFlag{spec: link.Spec{Congestion: "carrierpigeon"}}).start(t.Context(), nil, t.Output())
	if err != nil || running.Serves == nil {
		t.Fatal(running, err)
	}
	wantError(t, running.Serves(nil, nil), "a network of namespaces is not possible here")
}
