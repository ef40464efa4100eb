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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/service/apiserver"
)

// objects are the objects on the server that a worker made, and those that it is going to make. A
// client of their own, in another content type and untimed, prepares and checks them.
type objects struct {
	ctx      context.Context
	kind     *kind
	reach    *reach
	control  *client
	worker   string // label workerKey of every object
	shared   bool   // all workers use the same objects, and leave them
	deletes  bool   // the operation deletes what it works on
	serial   atomic.Int64
	mu       sync.Mutex
	ready    []string          // names of objects that exist for the operation
	versions map[string]string // resource versions of objects, by name
	loose    []string          // names of objects that operations may have left behind
}

// newObjects connects the client that prepares and checks objects for rows of a content type.
func newObjects(ctx context.Context, r *reach, op *op, k *kind, m *media) (*objects, error) {
	var id [4]byte
	for i := range id {
		id[i] = byte(rand.Uint32())
	}
	o := &objects{ctx: context.WithoutCancel(ctx), kind: k, reach: r, worker: hex.EncodeToString(id[:]), shared: op.shared}
	o.deletes = op.name == crud || op.name == "delete"
	if o.shared {
		o.worker = "shared"
	}
	other := m.other(k, r.NotServed)
	var err error
	o.control, err = openClient(&r.Reach, o.typed(), &other)
	return o, err
}

// workerKey is the label that distinguishes a worker's objects from another's.
const workerKey = "postage-worker"

// object returns the object that the worker creates with a name.
func (o *objects) object(name, change string) object {
	return o.objectOf(o.kind, name, change)
}

func (o *objects) objectOf(k *kind, name, change string) object {
	return k.make(metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{apiserver.Label: o.reach.Namespace, workerKey: o.worker},
		Annotations: map[string]string{changeKey: change},
	})
}

// typed is the kind with objects of its own type, which the second client has.
func (o *objects) typed() *kind {
	k := kindByName(o.kind.name)
	return &k
}

func (o *objects) selector() string { return workerKey + "=" + o.worker }

// newName returns a name that no object has had. All names have the same width.
func (o *objects) newName() string { return o.nameOf(o.serial.Add(1)) }

func (o *objects) nameOf(serial int64) string {
	name := o.worker + "-" + strconv.FormatInt(100_000_000+serial, 10)
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

// takeName removes one of the existing objects from the list and returns its name.
func (o *objects) takeName() (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ready) == 0 {
		return "", false
	}
	name := o.ready[len(o.ready)-1]
	o.ready = o.ready[:len(o.ready)-1]
	o.loose = append(o.loose, name)
	return name, true
}

// fill creates objects until there are want of them.
func (o *objects) fill(want int) (err error) {
	missing := want - len(o.ready)
	if missing <= 0 {
		return nil
	}
	names := make([]string, missing)
	for i := range names {
		if names[i] = o.nameOf(int64(i)); !o.shared {
			names[i] = o.newName()
		}
	}
	o.ready = append(o.ready, names...)
	if o.shared {
		if names, err = o.absent(names); err != nil {
			return err
		}
	}
	return eachOf(names, func(name string) error {
		made, err := o.control.create(o.ctx, o.objectOf(o.typed(), name, firstChange), metav1.CreateOptions{})
		if o.shared && apierrors.IsAlreadyExists(err) {
			return nil // another worker was faster
		}
		if err == nil {
			o.setVersion(name, made.GetResourceVersion())
		}
		return err
	})
}

// absent returns the names of shared objects that the server does not have. All workers give them
// the same names.
func (o *objects) absent(names []string) ([]string, error) {
	there, err := o.control.list(o.ctx, o.selector())
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, found := range there {
		has[found.GetName()] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return has[name] }), nil
}

func (o *objects) version(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.versions[name]
}

func (o *objects) setVersion(name, version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.versions == nil {
		o.versions = map[string]string{}
	}
	o.versions[name] = version
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
	if o.shared {
		return nil
	}
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
