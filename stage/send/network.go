package send

import (
	"context"
	"os"
	"time"

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
