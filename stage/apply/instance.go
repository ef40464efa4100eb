package apply

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/service/apiserver"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/stage/internal/lanes"
)

// patience is how long an event of a watch may take before it counts as lost. Requests have no such
// limit, since it would cost them a timer: they end with the conductor's patience for a batch, or
// for a worker's set-up.
const patience = time.Minute

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
	spec
	media   media // the row's content type
	ctx     context.Context
	reach   reach
	control *client // prepares and checks, in another content type, untimed
	caller  caller
	lanes   []lane
	*lanes.Lanes
	mistaken *mistake // nil except in the slice with the page's mistake
	names
	last int // the size of the last batch
}

// names holds a worker's own name and the names of its objects.
type names struct {
	worker   string // label workerKey of every object
	serial   atomic.Int64
	mu       sync.Mutex
	ready    []string          // of objects that exist for the operation
	versions map[string]string // resource versions of objects, by name
	loose    []string          // of objects that operations may have left behind
}

// workerKey is the label that distinguishes a worker's objects from another's.
const workerKey = "postage-worker"

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
	_ lab.Metered     = (*instance)(nil)
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
	if why := r.NotServed[m.name]; why != "" {
		return nil, errors.New(why)
	}
	var id [4]byte
	for i := range id {
		id[i] = byte(rand.Uint32())
	}
	in := &instance{spec: s, media: m, ctx: context.WithoutCancel(ctx), reach: r, names: names{worker: hex.EncodeToString(id[:])}}
	if s.op.shared {
		in.worker = "shared"
	}
	other := m.other(&s.kind, r.NotServed)
	if in.control, err = openClient(&r.Reach, in.typed(), &other); err != nil {
		return nil, err
	}
	if err := in.setUp(open); err != nil {
		return nil, errors.Join(in.explain(err), in.Close())
	}
	return in, nil
}

func (in *instance) setUp(open func(*instance) (caller, error)) (err error) {
	if in.caller, err = open(in); err != nil {
		return err
	}
	in.lanes = make([]lane, in.inflight)
	for i := range in.lanes {
		in.lanes[i] = lane{in: in, next: i, step: in.inflight}
	}
	in.Lanes = lanes.New(len(in.lanes), func(i int) error { return in.op.do(&in.lanes[i]) })
	if err := in.fill(in.op.objects); err != nil {
		return fmt.Errorf("make objects: %w", err)
	}
	// The first request makes the connection. Several at a time would make several connections.
	if err := in.caller.list(&in.lanes[0], in.op.objects); err != nil {
		return fmt.Errorf("first request: %w", err)
	}
	in.caller.tap().on.Store(true) // until the proof is done
	if in.op.name == "watch" {
		return in.caller.follow(in.op.objects)
	}
	return nil
}

// object returns the object that the worker creates with a name.
func (in *instance) object(name, change string) object {
	return in.objectOf(&in.kind, name, change)
}

func (in *instance) objectOf(k *kind, name, change string) object {
	return k.make(metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{apiserver.Label: in.reach.Namespace, workerKey: in.worker},
		Annotations: map[string]string{changeKey: change},
	})
}

// typed is the kind with objects of its own type, which the second client has.
func (in *instance) typed() *kind {
	k := kindByName(in.kind.name)
	return &k
}

func (in *instance) selector() string { return workerKey + "=" + in.worker }

// newName returns a name that no object has had. All names have the same width.
func (in *instance) newName() string { return in.nameOf(in.serial.Add(1)) }

func (in *instance) nameOf(serial int64) string {
	name := in.worker + "-" + strconv.FormatInt(100_000_000+serial, 10)
	if !in.kind.namespaced {
		name = in.reach.Prefix() + name
	}
	return name
}

// freshName returns a name for an object that the operation creates.
func (l *lane) freshName() string {
	name := l.in.newName()
	l.in.mu.Lock()
	l.in.loose = append(l.in.loose, name)
	l.in.mu.Unlock()
	return name
}

// nextName returns the next of the existing objects. No other lane works on it.
func (l *lane) nextName() string {
	name := l.in.ready[l.next%len(l.in.ready)]
	l.next += l.step
	return name
}

// nextChange returns a value that the object does not have.
func (l *lane) nextChange() string {
	l.changes++
	text := strconv.Itoa(100_000_000 + l.changes)
	return text[1:]
}

// takeName removes one of the existing objects from the list and returns its name.
func (in *instance) takeName() (string, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.ready) == 0 {
		return "", false
	}
	name := in.ready[len(in.ready)-1]
	in.ready = in.ready[:len(in.ready)-1]
	in.loose = append(in.loose, name)
	return name, true
}

// fill creates objects until there are want of them.
func (in *instance) fill(want int) (err error) {
	missing := want - len(in.ready)
	if missing <= 0 {
		return nil
	}
	names := make([]string, missing)
	for i := range names {
		if names[i] = in.nameOf(int64(i)); !in.op.shared {
			names[i] = in.newName()
		}
	}
	in.ready = append(in.ready, names...)
	if in.op.shared {
		if names, err = in.absent(names); err != nil {
			return err
		}
	}
	return eachOf(names, func(name string) error {
		o, err := in.control.create(in.ctx, in.objectOf(in.typed(), name, firstChange), metav1.CreateOptions{})
		if in.op.shared && apierrors.IsAlreadyExists(err) {
			return nil // another worker was faster
		}
		if err == nil {
			in.setVersion(name, o.GetResourceVersion())
		}
		return err
	})
}

// absent returns the names of shared objects that the server does not have. All workers give them
// the same names.
func (in *instance) absent(names []string) ([]string, error) {
	there, err := in.control.list(in.ctx, in.selector())
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, o := range there {
		has[o.GetName()] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return has[name] }), nil
}

func (n *names) version(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.versions[name]
}

func (n *names) setVersion(name, version string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.versions == nil {
		n.versions = map[string]string{}
	}
	n.versions[name] = version
}

// sweep deletes what operations have left behind.
func (in *instance) sweep() error {
	names := in.loose
	in.loose = nil
	if in.op.name == crud || in.op.name == "delete" {
		return nil // the operation deletes, or has failed: Close checks
	}
	return in.remove(names)
}

func (in *instance) remove(names []string) error {
	return eachOf(names, func(name string) error {
		err := in.control.delete(in.ctx, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// eachOf does something for each name, several at a time.
func eachOf(names []string, do func(string) error) error {
	const atATime = 4
	errs := make([]error, atATime)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for j := i; j < len(names) && errs[i] == nil; j += atATime {
				errs[i] = do(names[j])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// Prepare makes the server ready for another batch: it deletes what the last batch created, and
// creates what it deleted.
func (in *instance) Prepare() error {
	if in.mistaken != nil {
		in.mistaken.drain()
	}
	if err := in.sweep(); err != nil {
		return fmt.Errorf("apply: delete what was created: %w", in.explain(err))
	}
	if in.op.name == "delete" {
		if err := in.fill(max(stock, 2*in.last)); err != nil {
			return fmt.Errorf("apply: make objects to delete: %w", in.explain(err))
		}
	}
	return nil
}

// Run does n operations, as many at a time as there are lanes.
func (in *instance) Run(n int) error {
	in.last = n
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

// Metrics returns the server's memory after the proof, if it is known.
func (in *instance) Metrics() map[string]float64 {
	if in.reach.PID != 0 {
		if n, err := proc.MemoryOf(in.reach.PID); err == nil {
			return map[string]float64{"server-rss-B": float64(n)}
		}
	}
	return nil
}

// Counters returns the bytes that went over the client's connection, TLS included, and the CPU time
// of the whole server process, with etcd in it.
func (in *instance) Counters() (map[string]float64, error) {
	w := in.caller.wire()
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
	var errs []error
	if in.caller != nil {
		errs = append(errs, in.caller.close())
	}
	if err := in.removeAll(); err != nil {
		errs = append(errs, fmt.Errorf("apply: leave nothing behind: %w", in.explain(err)))
	}
	in.control.close()
	return errors.Join(errs...)
}

func (in *instance) removeAll() error {
	if in.op.shared {
		return nil
	}
	if err := in.remove(append(in.loose, in.ready...)); err != nil {
		return err
	}
	in.loose, in.ready = nil, nil
	left, err := in.control.list(in.ctx, in.selector())
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d objects are left, such as %s %s", len(left), in.kind.name, left[0].GetName())
	}
	return nil
}
