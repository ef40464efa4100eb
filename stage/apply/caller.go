package apply

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// connection is what its requests go through.
	connection() *client
}

// changeKey is an annotation whose value an update changes.
const changeKey = "postage-change"

// firstChange is the value with which objects are made. All values have its width.
const firstChange = "00000000"

// throughClient is client-go's caller.
type throughClient struct {
	*client
	in *instance
}

var _ caller = (*throughClient)(nil)

// openThrough opens the caller of the row's content type.
func openThrough(in *instance) (caller, error) {
	c, err := openClient(&in.reach, &in.kind, &in.media)
	if err != nil {
		return nil, err
	}
	return &throughClient{client: c, in: in}, nil
}

func (c *throughClient) connection() *client { return c.client }

func (c *throughClient) create(l *lane, name string) (err error) {
	l.last, err = c.client.create(c.in.objects.ctx, c.in.objects.object(name, firstChange), metav1.CreateOptions{})
	return err
}

func (c *throughClient) get(l *lane, name string) (err error) {
	l.last, err = c.client.get(c.in.objects.ctx, name)
	return err
}

func (c *throughClient) update(l *lane, name, change string) (err error) {
	l.last, err = c.client.update(c.in.objects.ctx, c.in.objects.object(name, change))
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
