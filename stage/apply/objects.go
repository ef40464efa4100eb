package apply

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/service/apiserver"
)

// objects are the objects on the server that a worker made, and those that it is going to make. A
// client of their own, in another content type and untimed, prepares and checks them.
type objects struct {
	ctx     context.Context
	kind    *kind
	reach   *apiserver.Reach
	control *client
	worker  string // label workerKey of every object
	deletes bool   // the operation deletes what it works on
	serial  atomic.Int64
	mu      sync.Mutex
	ready   []string // names of objects that exist for the operation
	loose   []string // names of objects that operations may have left behind
}

// newObjects connects the client that prepares and checks objects for rows of a content type.
func newObjects(ctx context.Context, r *apiserver.Reach, op *op, k *kind, m *media) (*objects, error) {
	o := &objects{ctx: context.WithoutCancel(ctx), kind: k, reach: r, worker: fmt.Sprintf("%08x", rand.Uint32())}
	o.deletes = op.name == crud
	other := m.other()
	var err error
	o.control, err = openClient(r, k, &other)
	return o, err
}

// workerKey is the label that distinguishes a worker's objects from another's.
const workerKey = "postage-worker"

// object returns the object that the worker creates with a name.
func (o *objects) object(name, change string) object {
	return o.kind.make(metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{apiserver.Label: o.reach.Namespace, workerKey: o.worker},
		Annotations: map[string]string{changeKey: change},
	})
}

func (o *objects) selector() string { return workerKey + "=" + o.worker }

// newName returns a name that no object has had. All names have the same width.
func (o *objects) newName() string {
	name := o.worker + "-" + strconv.FormatInt(100_000_000+o.serial.Add(1), 10)
	if !o.kind.namespaced {
		name = o.reach.Prefix() + name
	}
	return name
}

// freshName returns a name for an object that the operation creates.
func (o *objects) freshName() string {
	name := o.newName()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loose = append(o.loose, name)
	return name
}

// fill creates objects until there are want of them.
func (o *objects) fill(want int) error {
	before := len(o.ready)
	for len(o.ready) < want {
		o.ready = append(o.ready, o.newName())
	}
	return eachOf(o.ready[before:], func(name string) error {
		_, err := o.control.create(o.ctx, o.object(name, firstChange), metav1.CreateOptions{})
		return err
	})
}

// sweep deletes what operations have left behind.
func (o *objects) sweep() error {
	names := o.loose
	o.loose = nil
	if o.deletes {
		return nil // the operation deletes, or has failed: Close checks
	}
	return o.remove(names)
}

func (o *objects) remove(names []string) error {
	return eachOf(names, func(name string) error {
		err := o.control.delete(o.ctx, name)
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

func (o *objects) removeAll() error {
	if err := o.remove(append(o.loose, o.ready...)); err != nil {
		return err
	}
	o.loose, o.ready = nil, nil
	left, err := o.control.list(o.ctx, o.selector())
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d objects are left, such as %s %s", len(left), o.kind.name, left[0].GetName())
	}
	return nil
}
