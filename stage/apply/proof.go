package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const checks = "on the wire, below client-go, each request and each response is what the row says: Content-Type, Accept and the first bytes of the body; what was written is read back equal by a second client in another content type; what was read equals what that client wrote; nothing is left behind"

// Prove does operations with the same Run. It checks them on the wire, and checks with the second
// client what they did.
func (in *instance) Prove(ctx context.Context) error {
	if err := in.Prepare(); err != nil {
		return err
	}
	tap := in.caller.connection().tap
	tap.recording.Store(true)
	if err := in.Run(len(in.lanes)); err != nil {
		return err
	}
	tap.recording.Store(false)
	seen := tap.take()
	if err := in.checkWire(seen); err != nil {
		return err
	}
	if in.mistaken != nil {
		if err := in.mistaken.check(); err != nil {
			return err
		}
	}
	if err := in.checkWork(ctx, seen); err != nil {
		return err
	}
	if err := in.Prepare(); err != nil {
		return err
	}
	left, err := in.objects.control.list(ctx, in.objects.selector())
	if err != nil {
		return err
	}
	if len(left) != len(in.objects.ready) {
		return fmt.Errorf("%d objects are left behind, want %d", len(left), len(in.objects.ready))
	}
	return nil
}

// checkWire compares the exchanges on the wire with the row's name.
func (in *instance) checkWire(seen []*exchange) error {
	media := in.media
	if in.mistaken != nil {
		media = byName("json")
	}
	for _, e := range seen {
		if in.mistaken != nil {
			first, _, _ := strings.Cut(e.accepts, ",") // of "application/json, */*"
			e.accepts = strings.TrimSpace(first)
		}
		if err := e.check(&media); err != nil {
			return err
		}
		if e.proto != "HTTP/2.0" {
			return fmt.Errorf("%s %s: %s, want HTTP/2.0", e.method, e.path, e.proto)
		}
	}
	want := strings.Fields(strings.Repeat(in.op.methods+" ", len(in.lanes)))
	got := strings.Fields(methods(seen))
	if len(in.lanes) > 1 {
		slices.Sort(want)
		slices.Sort(got)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the requests were %q, want %q", got, want)
	}
	if conns := in.caller.connection().wire.Conns.Load(); conns != 1 {
		return fmt.Errorf("%d connections, want one that is kept", conns)
	}
	return nil
}

// checkWork compares the objects on the server, and the responses, with what the operations had to
// do.
func (in *instance) checkWork(ctx context.Context, seen []*exchange) error {
	switch in.op.name {
	case "create":
		return in.checkNames(ctx, in.objects.loose, func(string) string { return firstChange })
	case crud:
		for _, name := range in.objects.loose {
			if _, err := in.objects.control.get(ctx, name); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s is still there (%v)", name, err)
			}
		}
	case "update":
		changed := map[string]string{}
		for i := range in.lanes {
			changed[in.objects.ready[i]] = fmt.Sprintf("%08d", in.lanes[i].changes)
		}
		if err := in.checkNames(ctx, slices.Collect(maps.Keys(changed)), func(name string) string { return changed[name] }); err != nil {
			return err
		}
	case "list100":
		return in.checkList(seen)
	}
	return in.checkLast()
}

// checkNames reads objects back with the second client.
func (in *instance) checkNames(ctx context.Context, names []string, change func(name string) string) error {
	if len(names) != len(in.lanes) {
		return fmt.Errorf("%d objects were written, want %d", len(names), len(in.lanes))
	}
	for _, name := range names {
		got, err := in.objects.control.get(ctx, name)
		if err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		if err := in.checkObject(got, name, change(name)); err != nil {
			return fmt.Errorf("read back: %w", err)
		}
	}
	return nil
}

// checkLast checks what each lane received last.
func (in *instance) checkLast() error {
	if _, floor := in.caller.(*prebuilt); floor {
		return nil // the floor decodes nothing
	}
	for i := range in.lanes {
		l := &in.lanes[i]
		if l.last == nil {
			return errors.New("nothing came back")
		}
		name, change := l.last.GetName(), firstChange
		switch in.op.name {
		case "get":
			name = in.objects.ready[i]
		case "update":
			name, change = in.objects.ready[i], fmt.Sprintf("%08d", l.changes)
		}
		if err := in.checkObject(l.last, name, change); err != nil {
			return fmt.Errorf("what came back: %w", err)
		}
	}
	return nil
}

func (in *instance) checkList(seen []*exchange) error {
	if c, floor := in.caller.(*prebuilt); floor {
		return c.checkList(seen)
	}
	for i := range in.lanes {
		names := map[string]bool{}
		for _, o := range in.lanes[i].all {
			names[o.GetName()] = true
			if err := in.checkObject(o, o.GetName(), firstChange); err != nil {
				return fmt.Errorf("in the list: %w", err)
			}
		}
		for _, name := range in.objects.ready {
			if !names[name] {
				return fmt.Errorf("the list lacks %s", name)
			}
		}
	}
	return nil
}

// checkObject compares an object with the object of this name as it was made: everything except the
// fields that the server adds.
func (in *instance) checkObject(got object, name, change string) error {
	want := in.objects.object(name, change)
	got = got.DeepCopyObject().(object)
	if got.GetResourceVersion() == "" || got.GetUID() == "" {
		return fmt.Errorf("%s: has no resourceVersion and UID of a server", name)
	}
	got.SetResourceVersion("")
	got.SetUID("")
	got.SetCreationTimestamp(want.GetCreationTimestamp())
	got.SetManagedFields(nil)
	got.SetNamespace("")
	got.SetGeneration(0)
	got.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	annotations := got.GetAnnotations()
	delete(annotations, "kcp.io/cluster") // kcp's
	if !equality.Semantic.DeepEqual(got, want) {
		return fmt.Errorf("%s: is %+v, want %+v", name, got, want)
	}
	return nil
}
