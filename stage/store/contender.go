package store

import (
	"context"
	"errors"
	"fmt"
	"postage/lab"
	"postage/record"
)

// contender is one way to write the rows.
type contender struct {
	name     string
	module   string
	settings map[string]string // beside the name's parts
	floor    bool
	// insertsOnly is a way that fails on rows that exist.
	insertsOnly bool
	// writesNothing marks a floor that writes no row.
	writesNothing bool
	open          func(ctx context.Context, t *target) (*writer, error)
}

// target is where the rows go, and the rows.
type target struct {
	dsn   string
	table string   // as it stands in SQL
	types []string // of the columns
	unix  bool     // reached by a Unix socket
	rows  [][]any
	// source are the rows where there may be too many to hold, see memory.go.
	source *source
}

// writer is a contender's connection.
type writer struct {
	// write writes the rows once, all or none.
	write func() error
	// backends are the ids of the server's processes, one a connection, as the server told them.
	backends []int
	close    func() error
}

// place is what a case's rows go to: the sink or a server.
type place interface {
	target() *target
	// prove has the rows written once and finds out what became of them.
	prove(ctx context.Context, write func() error) error
	// prepare makes the place ready for another write, untimed.
	prepare(ctx context.Context) error
	// serverCPU is the CPU time, in nanoseconds, of the processes that take the rows. known is
	// false where it cannot be told.
	serverCPU(backends []int) (ns float64, known bool, err error)
	close() error
}

// row makes the contender a row of a case.
// floor is the one that bounds it, "" for the case's fastest.
func (c *contender) row(open func(context.Context, lab.Env) (place, error), checks, floor string) lab.Contender {
	row := lab.Contender{Name: c.name, Module: c.module, Floor: c.floor, Settings: record.KeysOf(c.name).Settings(c.settings), Checks: checks}
	if c.writesNothing {
		row.Checks = "the copy has the bytes of the original"
	} else if !c.floor {
		row.OwnFloor = floor
	}
	row.Open = func(ctx context.Context, env lab.Env) (lab.Instance, error) {
		p, err := open(ctx, env)
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		w, err := c.open(ctx, p.target())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("store: %s: %w", c.name, err), p.close())
		}
		return &instance{contender: c, place: p, writer: w}, nil
	}
	return row
}

// instance is a contender at work.
type instance struct {
	contender *contender
	place     place
	writer    *writer
	peak      int64 // resident bytes, 0 where unknown
}

var (
	_ lab.Instance = (*instance)(nil)
	_ lab.Metered  = (*instance)(nil)
	_ lab.Counted  = (*instance)(nil)
	_ lab.Prepared = (*instance)(nil)
)

func (in *instance) Prove(ctx context.Context) error {
	if in.contender.writesNothing {
		return in.writer.write()
	}
	if err := in.place.prove(ctx, in.writer.write); err != nil {
		return err
	}
	var err error
	times := 2
	if in.place.target().source != nil {
		times = 1 // there is so much that it warms itself up
	}
	in.peak, err = peakOf(times, func() error {
		if err := in.place.prepare(ctx); err != nil {
			return err
		}
		return in.writer.write()
	})
	return err
}

// Run writes the rows n times. Where the rows must be new, n is 1 unless the
// operation is faster than a batch; then the emptying of the table is in the time.
func (in *instance) Run(n int) error {
	for i := range n {
		if i > 0 && in.contender.needsPrepare(in.place) {
			if err := in.place.prepare(context.Background()); err != nil {
				return err
			}
		}
		if err := in.writer.write(); err != nil {
			return err
		}
	}
	return nil
}

// needsPrepare says whether two writes in a row need a preparation between them.
func (c *contender) needsPrepare(p place) bool {
	s, ok := p.(*server)
	return ok && s.phase != phaseUpdate && !c.writesNothing
}

func (in *instance) Prepare() error { return in.place.prepare(context.Background()) }

// Metrics are the rows and the bytes of the values that an operation writes, and the peak of the
// resident memory of this process, rows included, while it did.
func (in *instance) Metrics() map[string]float64 {
	t := in.place.target()
	m := map[string]float64{"encoded-bytes": float64(bytesOf(t.rows)), "rows": float64(len(t.rows))}
	if t.source != nil {
		m["encoded-bytes"], m["rows"] = float64(t.source.bytes()), float64(t.source.rows)
	}
	if in.peak > 0 {
		m["peak-rss-B"] = float64(in.peak)
	}
	return m
}

// Counters is the CPU time of the process at the other end: the sink, or the
// connections' own backend processes of the server.
func (in *instance) Counters() (map[string]float64, error) {
	if in.contender.writesNothing {
		return nil, nil
	}
	ns, known, err := in.place.serverCPU(in.writer.backends)
	if err != nil || !known {
		return nil, err
	}
	return map[string]float64{"server-cpu-ns/op": ns}, nil
}

func (in *instance) Close() error { return errors.Join(in.writer.close(), in.place.close()) }
