package apply

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"postage/internal/service/greeter/wire"
)

// caller makes requests to the server. The floor's bytes are made beforehand; client-go encodes its
// objects each time.
type caller interface {
	create(l *lane, name string) error
	get(l *lane, name string) error
	// update gives the object another value of changeKey.
	update(l *lane, name, change string) error
	// list fails unless there are exactly want objects.
	list(l *lane, want int) error
	delete(l *lane, name string) error
	// follow opens a watch on the worker's objects and waits for one event for each of them.
	follow(objects int) error
	// seen waits until the watch has reported the change.
	seen(l *lane, name, change string) error
	tap() *tap
	wire() *wire.Count
	close() error
}

// changeKey is an annotation whose value an update changes.
const changeKey = "postage-change"

// firstChange is the value with which objects are made. All values have its width.
const firstChange = "00000000"

// throughClient is client-go's caller.
type throughClient struct {
	*client
	in      *instance
	watcher watch.Interface
}

var _ caller = (*throughClient)(nil)

func (c *throughClient) tap() *tap         { return c.client.tap }
func (c *throughClient) wire() *wire.Count { return &c.client.wire }

func (c *throughClient) create(l *lane, name string) (err error) {
	l.last, err = c.client.create(c.in.objects.ctx, c.in.objects.object(name, firstChange), metav1.CreateOptions{})
	return err
}

func (c *throughClient) get(l *lane, name string) (err error) {
	l.last, err = c.client.get(c.in.objects.ctx, name)
	return err
}

func (c *throughClient) update(l *lane, name, change string) (err error) {
	o := c.in.objects.object(name, change)
	if c.in.kind.custom {
		o.SetResourceVersion(c.in.objects.version(name))
	}
	if l.last, err = c.client.update(c.in.objects.ctx, o); err == nil {
		c.in.objects.setVersion(name, l.last.GetResourceVersion())
	}
	return err
}

func (c *throughClient) list(l *lane, want int) (err error) {
	if l.all, err = c.client.list(c.in.objects.ctx, c.in.objects.selector()); err == nil && len(l.all) != want {
		err = fmt.Errorf("list: %d objects, want %d", len(l.all), want)
	}
	return err
}

func (c *throughClient) delete(_ *lane, name string) error {
	return c.client.delete(c.in.objects.ctx, name)
}

func (c *throughClient) follow(objects int) (err error) {
	if c.watcher, err = c.client.watch(c.in.objects.ctx, c.in.objects.selector()); err != nil {
		return err
	}
	for range objects {
		if _, err := c.event(); err != nil {
			return err
		}
	}
	return nil
}

func (c *throughClient) seen(l *lane, name, change string) error {
	for {
		o, err := c.event()
		if err != nil {
			return err
		}
		if o.GetName() == name && o.GetAnnotations()[changeKey] == change {
			l.last = o
			return nil
		}
	}
}

func (c *throughClient) event() (object, error) {
	ctx, cancel := context.WithTimeout(c.in.objects.ctx, patience)
	defer cancel()
	select {
	case e, ok := <-c.watcher.ResultChan():
		if !ok {
			return nil, errors.New("watch: the server ended it")
		}
		o, ok := e.Object.(object)
		if e.Type == watch.Error || !ok {
			return nil, fmt.Errorf("watch: %s: %v", e.Type, e.Object)
		}
		return o, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("watch: no event within %v", patience)
	}
}

func (c *throughClient) close() error {
	if c.watcher != nil {
		c.watcher.Stop()
		for range c.watcher.ResultChan() { // until the watch's goroutine has ended
		}
	}
	c.client.close()
	return nil
}
