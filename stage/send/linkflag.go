package send

import (
	"context"
	"errors"
	"flag"
	"io"
	"maps"

	"postage/internal/sys/link"
	"postage/lab"
)

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

// choose puts the network under the rows. The stage route has its rows chosen first, by the same
// flag.
func (f *linkFlag) choose(c *lab.Choice) error {
	if f.text == "" {
		return nil
	}
	if f.used = f.used || len(c.Entries) > 0; !f.used {
		return &lab.Hinted{Err: errors.New("--link: none of the rows is one of the stages send and route"), Hint: "postage run Send/slice=reuse --link " + f.text}
	}
	services := map[*lab.Service]*lab.Service{}
	for i := range c.Entries {
		e := &c.Entries[i]
		if i == 0 || e.Case != c.Entries[i-1].Case {
			old := e.Case.Service
			if services[old] == nil {
				services[old] = &lab.Service{Start: func(ctx context.Context, log io.Writer) (*lab.Running, error) { return f.start(ctx, old, log) }}
			}
			e.Case.Service, e.Case.Batch = services[old], f.spec.RTT
		}
		e.Contender.Settings = maps.Clone(e.Contender.Settings)
		e.Contender.Settings["link"] = f.spec.String()
	}
	return nil
}

// start tries out whether the network is possible, and starts the service that the rows have too,
// nil for none. Each worker makes a network of its own.
func (f *linkFlag) start(ctx context.Context, service *lab.Service, log io.Writer) (*lab.Running, error) {
	running := &lab.Running{Stop: func() error { return nil }}
	l, err := link.Open(ctx, f.spec)
	if errors.Is(err, link.ErrNotPossible) {
		running.Serves = func(*lab.Case, *lab.Contender) error { return err }
		return running, nil
	}
	if err == nil {
		err = l.Close()
	}
	if err == nil && service != nil {
		running, err = service.Start(ctx, log)
	}
	if err != nil {
		return nil, err
	}
	running.Environment = append(running.Environment, linkVariable+"="+f.text)
	return running, nil
}
