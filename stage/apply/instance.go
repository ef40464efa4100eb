package apply

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"postage/internal/service/apiserver"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/stage/internal/lanes"
)

// spec says what a case measures.
type spec struct {
	server   apiserver.Kind
	fsync    bool
	op       op
	kind     kind
	inflight int
}

// instance is an open contender in a case.
type instance struct {
	op      op
	kind    kind
	media   media // the row's content type
	reach   apiserver.Reach
	objects *objects
	caller  caller
	lanes   []lane
	*lanes.Lanes
	mistaken *mistake // nil except in the slice with the page's mistake
}

// lane does operations one after the other.
type lane struct {
	in      *instance
	next    int // into the names of existing objects
	step    int // between them
	changes int
	last    object   // the last response
	all     []object // as a list
}

var (
	_ lab.Instance    = (*instance)(nil)
	_ lab.Counted     = (*instance)(nil)
	_ lab.Prepared    = (*instance)(nil)
	_ lab.Sized       = (*instance)(nil)
	_ lab.Distributed = (*instance)(nil)
)

// newInstance opens a contender. open makes its caller.
func newInstance(ctx context.Context, s spec, m media, open func(*instance) (caller, error)) (*instance, error) {
	r, err := reachOf(s.server, s.fsync)
	if err != nil {
		return nil, err
	}
	in := &instance{op: s.op, kind: s.kind, media: m, reach: r}
	if in.objects, err = newObjects(ctx, &in.reach, &in.op, &in.kind, &in.media); err != nil {
		return nil, err
	}
	if err := in.setUp(s.inflight, open); err != nil {
		return nil, errors.Join(in.explain(err), in.Close())
	}
	return in, nil
}

func (in *instance) setUp(inflight int, open func(*instance) (caller, error)) (err error) {
	if in.caller, err = open(in); err != nil {
		return err
	}
	in.lanes = make([]lane, inflight)
	for i := range in.lanes {
		in.lanes[i] = lane{in: in, next: i, step: inflight}
	}
	in.Lanes = lanes.New(len(in.lanes), func(i int) error { return in.op.do(&in.lanes[i]) })
	if err := in.objects.fill(in.op.objects); err != nil {
		return fmt.Errorf("make objects: %w", err)
	}
	// The first request makes the connection. Several at a time would make several connections.
	if err := in.caller.list(&in.lanes[0], in.op.objects); err != nil {
		return fmt.Errorf("first request: %w", err)
	}
	return nil
}

// nextName returns the next of the existing objects. No other lane works on it.
func (l *lane) nextName() string {
	name := l.in.objects.ready[l.next%len(l.in.objects.ready)]
	l.next += l.step
	return name
}

// nextChange returns a value that the object does not have.
func (l *lane) nextChange() string {
	l.changes++
	text := strconv.Itoa(100_000_000 + l.changes)
	return text[1:]
}

// Prepare makes the server ready for another batch: it deletes what the last batch created.
func (in *instance) Prepare() error {
	if in.mistaken != nil {
		in.mistaken.drain()
	}
	if err := in.objects.sweep(); err != nil {
		return fmt.Errorf("apply: delete what was created: %w", in.explain(err))
	}
	return nil
}

// Run does n operations, as many at a time as there are lanes.
func (in *instance) Run(n int) error {
	if err := in.Lanes.Run(n); err != nil {
		return fmt.Errorf("apply: %s %s: %w", in.op.name, in.kind.name, in.explain(err))
	}
	return nil
}

// MinOps returns how many operations a batch should have at least. With only a few for each lane,
// some lanes would be idle for much of the batch.
func (in *instance) MinOps() int {
	if len(in.lanes) == 1 {
		return 1
	}
	return 4 * len(in.lanes)
}

// Counters returns the bytes that went over the client's connection, TLS included, and the CPU time
// of the whole server process, with etcd in it.
func (in *instance) Counters() (map[string]float64, error) {
	w := &in.caller.connection().wire
	counters := map[string]float64{"wire-out-B/op": float64(w.Out.Load()), "wire-in-B/op": float64(w.In.Load())}
	if in.reach.PID != 0 {
		cpu, err := proc.CPUOf(in.reach.PID)
		switch {
		case err == nil:
			counters["server-cpu-ns/op"] = float64(cpu)
		case ended(in.reach.PID):
			return nil, errServerEnded
		}
	}
	return counters, nil
}

// Close deletes the worker's objects and checks that none is left.
func (in *instance) Close() error {
	if in.caller != nil {
		in.caller.connection().close()
	}
	defer in.objects.control.close()
	if err := in.objects.removeAll(); err != nil {
		return fmt.Errorf("apply: leave nothing behind: %w", in.explain(err))
	}
	return nil
}
