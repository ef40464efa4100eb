package store

import (
	"context"
	"errors"
	"fmt"

	"postage/lab"
)

// contender is one way to write the rows.
type contender struct {
	name     string
	module   string
	settings map[string]string // settings beyond those in the name
	floor    bool
	// insertsOnly marks a way that fails if a row exists.
	insertsOnly bool
	// writesNothing marks a floor that writes no row.
	writesNothing bool
	// pgx is how it writes through pgx's connections, open what it has instead.
	pgx  begin
	open func(ctx context.Context, t *target) (*writer, error)
}

// target has the rows and the place that they go to.
type target struct {
	dsn   string
	table string   // its name in SQL
	types []string // names of the columns
	unix  bool     // it is reached through a Unix socket
	far   *far     // it is reached over a network; nil if not
	rows  [][]any
}

// writer is a contender's connection.
type writer struct {
	// write writes the rows once: all of them, or none.
	write func() error
	// backend is the id of the server's process, as the server reported it.
	backend int
	close   func() error
}

// place is where a case's rows go: the sink or a server.
type place interface {
	target() *target
	// prove lets the contender write the rows once and checks what was written.
	prove(ctx context.Context, write func() error) error
	// prepare makes the place ready for another write; it is not timed.
	prepare(ctx context.Context) error
	// serverCPU returns the CPU time, in nanoseconds, of the process that takes the rows. known is
	// false if it cannot be measured.
	serverCPU(backend int) (ns float64, known bool, err error)
	close() error
}

// row makes the contender a row of a case. floor is the one that bounds it, "" for the fastest of
// the case's floors.
func (c *contender) row(open func(context.Context, lab.Env) (place, error), checks, floor string) lab.Contender {
	row := lab.Contender{Name: c.name, Module: c.module, Floor: c.floor, Settings: c.settings, Checks: checks}
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
		w, err := c.connect(ctx, p.target())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("store: %s: %w", c.name, err), p.close())
		}
		return &instance{contender: c, place: p, writer: w}, nil
	}
	return row
}

func (c *contender) connect(ctx context.Context, t *target) (*writer, error) {
	if c.pgx != nil {
		return onPgx(ctx, t, c.name, c.pgx)
	}
	return c.open(ctx, t)
}

// instance is an open contender.
type instance struct {
	contender *contender
	place     place
	writer    *writer
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
	return in.place.prove(ctx, in.writer.write)
}

// Run writes the rows n times. If the rows must be new, n is 1, unless an operation takes less time
// than a batch: emptying the table is then part of the time.
func (in *instance) Run(n int) error {
	for i := range n {
		if s, ok := in.place.(*server); i > 0 && ok && s.phase == phaseInsert && !in.contender.writesNothing {
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

func (in *instance) Prepare() error { return in.place.prepare(context.Background()) }

// Metrics returns the rows and the bytes of the values that an operation writes.
func (in *instance) Metrics() map[string]float64 {
	t := in.place.target()
	return map[string]float64{"encoded-bytes": float64(bytesOf(t.rows)), "rows": float64(len(t.rows))}
}

// Counters returns the CPU time of the other end: of the sink, or of the server's backend process
// for this connection.
func (in *instance) Counters() (map[string]float64, error) {
	if in.contender.writesNothing {
		return nil, nil
	}
	ns, known, err := in.place.serverCPU(in.writer.backend)
	if err != nil || !known {
		return nil, err
	}
	return map[string]float64{"server-cpu-ns/op": ns}, nil
}

func (in *instance) Close() error { return errors.Join(in.writer.close(), in.place.close()) }
