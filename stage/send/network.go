package send

import (
	"context"
	"net/http/httptrace"
	"os"
	"time"

	"google.golang.org/grpc/stats"

	"postage/internal/sys/link"
)

// A Network is a link between clients and their server, which is there for them alone. nil is
// loopback.
type Network struct{ *link.Link }

// OpenNetwork makes the network that the run asks for, by --link; nil without.
func OpenNetwork(ctx context.Context) (*Network, error) {
	text := os.Getenv(linkVariable)
	if text == "" {
		return nil, nil
	}
	spec, err := link.Parse(text)
	if err != nil {
		return nil, err
	}
	// Each block has losses of its own: the same ones would have its figures alike.
	spec.Seed = uint64(time.Now().UnixNano())
	l, err := link.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &Network{l}, nil
}

// Server is the end where the server listens.
func (n *Network) Server() *link.End {
	if n == nil {
		return nil
	}
	return n.Far
}

// near is the clients' end.
func (n *Network) near() *link.End {
	if n == nil {
		return nil
	}
	return n.Near
}

// Close removes it.
func (n *Network) Close() error {
	if n == nil {
		return nil
	}
	return n.Link.Close()
}

// Counters adds what the network counts. It is an error, which ends the row, if the network is not
// what its spec says.
func (n *Network) Counters(to map[string]float64) error {
	if n == nil {
		return nil
	}
	now, err := n.Kept()
	if err != nil {
		return err
	}
	to["link-cpu-ns/op"] = float64(now.CPUNS)
	to["link-packets/op"] = float64(now.There.Packets + now.Back.Packets)
	to["link-lost/op"] = float64(now.There.Lost + now.Back.Lost)
	to["link-dropped/op"] = float64(now.There.Dropped + now.Back.Dropped)
	return nil
}

// firstBytes adds how long operations waited for the first bytes of their answers.
func (in *instance) firstBytes(to map[string]float64) {
	waited := int64(0)
	for i := range in.lanes {
		waited += in.lanes[i].waited.Load()
	}
	if waited > 0 { // floors have no answer's head
		to["first-byte-ns/op"] = float64(waited)
	}
}

// watch has a lane's requests tell when the first byte of their answers comes.
func (n *Network) watch(ctx context.Context, l *lane) {
	if n == nil {
		return
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), watching{}, l)
	l.watched = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: l.first})
}

func (l *lane) first() { l.waited.Add(int64(time.Since(l.begun))) }

// context is a request's context: the watched one if the lane has one.
func (l *lane) context(usual context.Context) context.Context {
	if l.watched != nil {
		return l.watched
	}
	return usual
}

// watching is the key of a context's lane.
type watching struct{}

// firstHeader tells lanes of the first byte over grpc-go, which net/http's trace does not see.
type firstHeader struct{ stats.Handler }

func (firstHeader) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (firstHeader) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (firstHeader) HandleConn(context.Context, stats.ConnStats)                       {}
func (firstHeader) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.InHeader); !ok {
		return
	}
	if l, ok := ctx.Value(watching{}).(*lane); ok {
		l.first()
	}
}
