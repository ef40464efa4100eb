package link

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"postage/internal/sys/proc"
)

// Name is the name that the process is started by, see [proc.StartServer].
const Name = "link"

// Link is a network that is up.
type Link struct {
	process   *proc.Child
	spec      Spec
	Near, Far *End
}

// ErrNotPossible is wrapped by errors about what this machine or user cannot have.
var ErrNotPossible = errors.New("a network of namespaces is not possible here")

// An End is one of a link's two hosts, and makes sockets there. Without an end, nil, they are made
// in this process's own network.
type End struct {
	Namespace  string `json:"namespace"` // the file of it
	IP         string `json:"ip"`
	Congestion string `json:"congestion"`
}

// ends is the process's first answer.
type ends struct {
	Near, Far *End
	Refused   string // why there is none
}

// Open makes a link.
func Open(ctx context.Context, s Spec) (*Link, error) {
	var e ends
	p, err := proc.StartServer(ctx, Name, s, &e)
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	if e.Refused != "" {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrNotPossible, e.Refused), p.Close())
	}
	return &Link{p, s, e.Near, e.Far}, nil
}

// Counters is what a link has done.
type Counters struct {
	CPUNS int64  `json:"cpu_ns"`
	There Totals `json:"there"` // from the near end to the far one
	Back  Totals `json:"back"`
	// Overrun are packets that the process did not take in time: it was the limit.
	Overrun int64 `json:"overrun"`
	// Arrived are packets that came to an end, and LateNS is by how much later than they should
	// have, in all.
	Arrived int64 `json:"arrived"`
	LateNS  int64 `json:"late_ns"`
}

// late counts a packet that arrived.
func (c *Counters) late(d time.Duration) {
	c.Arrived++
	c.LateNS += d.Nanoseconds()
}

// Late is how late packets came on average.
func (c *Counters) Late() time.Duration { return time.Duration(c.LateNS / max(1, c.Arrived)) }

// enough is how many packets have a mean lateness.
const enough = 500

// ErrBusy is the reason of a link whose packets came late.
var ErrBusy = errors.New("the machine is too busy for it")

// kept returns an error where the link was not what its spec says: its process was the limit, or a
// busy machine made packets later, on average, than 5% of a round trip (or 250 µs, if that is
// more).
func (c *Counters) kept(s *Spec) error {
	switch bound := max(250*time.Microsecond, s.RTT/20); {
	case c.Overrun > 0:
		return fmt.Errorf("the link was the limit: it did not take %d packets in time; ask for a lower rate", c.Overrun)
	case c.Arrived >= enough && c.Late() > bound:
		return fmt.Errorf("the link's packets came %v late on average, which is over %v: %w", c.Late(), bound, ErrBusy)
	}
	return nil
}

// Counters asks the process what it has done so far.
func (l *Link) Counters() (c Counters, err error) {
	err = l.process.Ask("counters", &c)
	return c, err
}

// Kept is what it has done so far. It is an error if it was not what its spec says.
func (l *Link) Kept() (Counters, error) {
	c, err := l.Counters()
	if err == nil {
		err = c.kept(&l.spec)
	}
	return c, err
}

// Close removes the link.
func (l *Link) Close() error { return l.process.Close() }

// Serve is the main function of the process, a [proc.Server].
func Serve(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(stdin)
	var s Spec
	if err := proc.ReadConfig(in, &s); err != nil {
		return err
	}
	near, far, counters, err := carry(s)
	e := ends{Near: near, Far: far}
	if err != nil {
		e.Refused = err.Error()
	}
	return proc.Serve(in, stdout, e, func(json.RawMessage) (any, error) { return counters(), nil })
}
