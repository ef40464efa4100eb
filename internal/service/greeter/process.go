package greeter

import (
	"context"

	"postage/internal/sys/proc"
)

// Process is a server that runs in a process of its own.
type Process struct {
	*proc.Child
	// Addr is where it listens.
	Addr string
}

// Start starts this program again as a server and waits until it listens.
func Start(ctx context.Context, config Config) (*Process, error) {
	var g greeting
	p, err := proc.StartServer(ctx, Name, config, &g)
	if err != nil {
		return nil, err
	}
	return &Process{p, g.Addr}, nil
}

// Counters asks the server what it has done so far.
func (p *Process) Counters() (c Counters, err error) {
	err = p.Ask("counters", &c)
	return c, err
}
