package send

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"postage/internal/sys/link"
	"postage/lab"
)

// networkRate is the rate of the slice's networks in bits a second.
const networkRate = 100e6

// networkCases have a network between client and server: every protocol, on a kept connection, with
// ten answers at a time, and on new connections.
func networkCases(set lab.Settings) []lab.Case {
	network := networkOf(set)
	var cases []lab.Case
	for _, shape := range []struct {
		reuse    bool
		inflight int
	}{{true, 1}, {true, 10}, {false, 1}} {
		s := fixed()
		s.answer, s.link, s.reuse, s.inflight, s.conns = bytesOf(set["answer"]), network, shape.reuse, shape.inflight, 1
		if c := networkCase(s); c.Batch < mostNetwork {
			cases = append(cases, c)
		}
	}
	return cases
}

// mostNetwork is how long a batch may take: longer ones cannot have a figure within an hour.
const mostNetwork = 10 * time.Second

// networkOf is the network of a run's options. Losses of 5% come in bursts.
func networkOf(set lab.Settings) *link.Spec {
	rtt, err := time.ParseDuration(set["rtt"])
	if err != nil {
		panic("send: " + err.Error())
	}
	loss, err := strconv.ParseFloat(strings.TrimSuffix(set["loss"], "%"), 64)
	if err != nil {
		panic("send: " + err.Error())
	}
	network := &link.Spec{RTT: rtt, Rate: networkRate, Loss: loss / 100}
	if loss == 5 {
		network.Burst = 4
	}
	return network
}

func networkCase(s spec) lab.Case {
	l := s.link
	name := fmt.Sprintf("slice=network/reuse=%s/answer=%s/inflight=%d/%s", yesNo(s.reuse), sizeName(s.answer), s.inflight, linkName(l))
	how := "on a kept connection"
	if !s.reuse {
		how = "on a new connection"
	}
	c := newCase(name, fmt.Sprintf("Over a network of %v: which protocol brings %d answers of %s at a time soonest, %s?", *l, s.inflight, sizeName(s.answer), how))
	c.Baseline, c.Batch = "proto=http2", s.expected()
	if s.reuse {
		c.add(s, "", append(protocols(), connectProto("http2"))...)
		if s.inflight > 1 {
			six := s
			six.conns = 6
			c.add(six, "conns=6", netHTTP1())
		} else if l.Loss == 0 { // losses make a floor's time chance, which bounds nothing
			c.addFloors(s)
		}
		return c.Case
	}
	c.Baseline += "/resume=no"
	for _, r := range []resume{resumeNo, resumeYes} {
		s.resume = r
		c.add(s, "resume="+string(r), append(protocols(), connectProto("http2"))...)
	}
	s.resume = resumeEarly
	c.add(s, "resume=0rtt", quicHTTP3())
	return c.Case
}

// expected is about how long a batch takes: the round trips of a connection and of slow start from
// ten segments (RFC 6928), the link's rate, and with losses Mathis' bound.
func (s *spec) expected() time.Duration {
	const segment = 1448
	bytes, rtt := float64(s.answer*s.inflight), s.link.RTT.Seconds()
	trips := 1 + math.Max(0, math.Log2(bytes/(10*segment)))
	if !s.reuse {
		trips += 2
	}
	least := math.Max(trips*rtt, 8*bytes/networkRate)
	if loss := s.link.Loss / math.Max(1, s.link.Burst); loss > 0 {
		if rate := mathis(segment, s.link.RTT, loss); bytes > 40*segment {
			least = math.Max(least, bytes/rate)
		}
	}
	return time.Duration(least * 1e9)
}

// mathis is the rate in bytes a second of a TCP flow with such a loss, on average, by M. Mathis et
// al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997: random losses
// and an acknowledgement of each segment.
func mathis(segment int, rtt time.Duration, loss float64) float64 {
	return float64(segment) / rtt.Seconds() * math.Sqrt(1.5/loss)
}

// possible is a network of the spec as a service: whether there can be one is tried out, and each
// worker makes its own.
func possible(ctx context.Context, s link.Spec, environment ...string) (*lab.Running, error) {
	running := &lab.Running{Environment: environment, Stop: func() error { return nil }}
	l, err := link.Open(ctx, s)
	if errors.Is(err, link.ErrNotPossible) {
		running.Serves = func(*lab.Case, *lab.Contender) error { return err }
		return running, nil
	}
	if err != nil {
		return nil, err
	}
	return running, l.Close()
}

// linkVariable tells workers of --link.
const linkVariable = "POSTAGE_LINK"

// linkFlag is --link: the network that is between client and server of each row, in place of
// loopback.
type linkFlag struct {
	text string
	spec link.Spec
	used bool
}

func (f *linkFlag) String() string { return f.text }

func (f *linkFlag) Set(text string) (err error) {
	f.text = text
	f.spec, err = link.Parse(text)
	return err
}

func (f *linkFlag) flags(set *flag.FlagSet) {
	*f = linkFlag{}
	set.Var(f, "link", "a `network` between client and server of the stages send and route, such as\nrtt=20ms,loss=1%,rate=50mbit; also burst and cc (needs root, or `unshare -Urn`; see docs/network.md)")
}

// choose puts the network under the rows; those that have one of their own are left out then.
// Without --link it has it tried out whether the networks of these are possible. The stage route
// has its rows chosen first, by the same flag.
func (f *linkFlag) choose(c *lab.Choice) error {
	own := func(e lab.Entry) bool { return strings.Contains(e.Case.Name, "/slice=network/") }
	if f.text == "" {
		tried := &lab.Service{Start: func(ctx context.Context, _ io.Writer) (*lab.Running, error) { return possible(ctx, link.Spec{}) }}
		for _, e := range c.Entries {
			if own(e) {
				e.Case.Service = tried
			}
		}
		return nil
	}
	c.Entries = slices.DeleteFunc(c.Entries, own)
	if f.used = f.used || len(c.Entries) > 0; !f.used {
		return &lab.Hinted{Err: errors.New("--link: none of the rows is one of the stages send and route over loopback"), Hint: "postage run Send/slice=reuse --link " + f.text}
	}
	under := map[*lab.Service]*lab.Service{}
	for i := range c.Entries {
		e := &c.Entries[i]
		if i == 0 || e.Case != c.Entries[i-1].Case {
			old := e.Case.Service
			if under[old] == nil {
				under[old] = &lab.Service{Start: func(ctx context.Context, log io.Writer) (*lab.Running, error) { return f.start(ctx, old, log) }}
			}
			e.Case.Service, e.Case.Batch = under[old], f.spec.RTT
		}
		e.Contender.Settings = maps.Clone(e.Contender.Settings)
		e.Contender.Settings["link"] = f.spec.String()
	}
	return nil
}

// start starts the network, and the service that the rows have beside it, nil for none.
func (f *linkFlag) start(ctx context.Context, beside *lab.Service, log io.Writer) (*lab.Running, error) {
	running, err := possible(ctx, f.spec, linkVariable+"="+f.text)
	if err != nil || beside == nil || running.Serves != nil {
		return running, err
	}
	of, err := beside.Start(ctx, log)
	if err == nil {
		of.Environment = append(of.Environment, running.Environment...)
	}
	return of, err
}

// linkName is a network in the name of a case.
func linkName(l *link.Spec) string {
	name := fmt.Sprintf("rtt=%v/loss=%g%%", l.RTT, 100*l.Loss)
	if l.Burst != 0 {
		name += fmt.Sprintf("/burst=%g", l.Burst)
	}
	return name
}
