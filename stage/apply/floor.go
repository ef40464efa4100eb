package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/service/greeter/wire"
)

// prebuilt is the floor's caller. The bytes of its requests are made beforehand; only the object's
// name and the change are written into them. It reads no more of the responses than their status
// and their length; of a custom resource that has changed, its new version. It uses the content
// type that is cheapest for the server: protobuf, or CBOR for a custom resource.
type prebuilt struct {
	in         *instance
	raw        *raw
	media      media
	collection string
	body       template // of a new object
	changes    template // of a changed one, which has a version if it is a custom resource
	options    []byte   // the body of a delete
	cancel     context.CancelFunc
	stream     io.ReadCloser
	changed    chan string // changes that the watch has reported; nil without a watch, closed when the watch ends
}

var _ caller = (*prebuilt)(nil)

// template is a body with places for the name, the change and the version.
type template struct {
	text                    []byte
	names, changes, version []int
}

// anyVersion is as wide as the largest version. A server takes versions with zeros before them.
const anyVersion = "01234567890123456789"

func openPrebuilt(in *instance) (caller, error) {
	config, err := in.reach.Config()
	if err != nil {
		return nil, err
	}
	c := &prebuilt{in: in, media: in.media, collection: in.kind.collection(in.reach.Namespace)}
	name := in.newName()
	o := in.object(name, firstChange)
	if c.body, err = c.template(o, name); err != nil {
		return nil, err
	}
	if in.kind.custom {
		o.SetResourceVersion(anyVersion)
	}
	if c.changes, err = c.template(o, name); err != nil {
		return nil, err
	}
	if c.options, err = encoded(&c.media, &kind{version: "v1"}, &metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	if c.raw, err = openRaw(in.ctx, config); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *prebuilt) template(o object, name string) (t template, err error) {
	if t.text, err = encoded(&c.media, &c.in.kind, o); err != nil {
		return t, err
	}
	t.names, t.changes, t.version = places(t.text, name), places(t.text, firstChange), places(t.text, anyVersion)
	if len(t.names) == 0 || len(t.changes) != 1 {
		return t, errors.New("the encoded object does not have its name and its annotation as text")
	}
	return t, nil
}

// places returns the offsets of a text.
func places(in []byte, text string) (at []int) {
	for from := 0; ; {
		i := bytes.Index(in[from:], []byte(text))
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + len(text)
	}
}

// filled returns the body for an object.
func (t *template) filled(name, change, version string) []byte {
	text := bytes.Clone(t.text)
	for _, at := range t.names {
		copy(text[at:], name)
	}
	for _, at := range t.changes {
		copy(text[at:], change)
	}
	for _, at := range t.version {
		copy(text[at:], fmt.Sprintf("%0*s", len(anyVersion), version))
	}
	return text
}

func (c *prebuilt) tap() *tap         { return c.raw.tap }
func (c *prebuilt) wire() *wire.Count { return &c.raw.wire }

// send makes a request and discards the response's body.
func (c *prebuilt) send(method, path string, body []byte) error {
	request, err := c.raw.request(c.in.ctx, method, path, c.media.contentType, c.media.contentType, body)
	if err != nil {
		return err
	}
	response, err := c.raw.auth.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (c *prebuilt) create(_ *lane, name string) error {
	return c.send(http.MethodPost, c.collection, c.body.filled(name, firstChange, ""))
}

func (c *prebuilt) get(_ *lane, name string) error {
	return c.send(http.MethodGet, c.collection+"/"+name, nil)
}

func (c *prebuilt) update(_ *lane, name, change string) error {
	path := c.collection + "/" + name
	if !c.in.kind.custom {
		return c.send(http.MethodPut, path, c.changes.filled(name, change, ""))
	}
	status, text, err := c.raw.ask(c.in.ctx, http.MethodPut, path, c.media.contentType, c.media.contentType, c.changes.filled(name, change, c.in.version(name)))
	if err != nil {
		return err
	}
	version, _ := numberAfter(text, "resourceVersion", 0)
	if status/100 != 2 || version == "" {
		return fmt.Errorf("PUT %s: HTTP %d: %.1000s", path, status, text)
	}
	c.in.setVersion(name, version)
	return nil
}

func (c *prebuilt) list(*lane, int) error {
	return c.send(http.MethodGet, c.collection+"?labelSelector="+url.QueryEscape(c.in.selector()), nil)
}

// checkList looks for the objects' names in what came, which nothing decodes. Servers sort them.
func (c *prebuilt) checkList(seen []*exchange) error {
	for _, e := range seen {
		rest, found := e.response, false
		for _, name := range c.in.ready {
			if _, rest, found = bytes.Cut(rest, []byte(name)); !found {
				return fmt.Errorf("the list lacks %s", name)
			}
		}
	}
	return nil
}

func (c *prebuilt) delete(_ *lane, name string) error {
	return c.send(http.MethodDelete, c.collection+"/"+name, c.options)
}

// follow opens a watch, and starts a goroutine that looks for changes in what comes.
func (c *prebuilt) follow(objects int) error {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(c.in.ctx)
	request, err := c.raw.request(ctx, http.MethodGet, c.collection+"?watch=true&labelSelector="+url.QueryEscape(c.in.selector()), "", c.media.contentType, nil)
	if err != nil {
		return err
	}
	response, err := c.raw.auth.RoundTrip(request)
	if err != nil {
		return err
	}
	c.stream = response.Body
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("watch: %s", response.Status)
	}
	c.changed = make(chan string, 1)
	go c.look(ctx)
	for range objects {
		if err := c.seen(nil, "", firstChange); err != nil {
			return err
		}
	}
	return nil
}

// look reports the changes on the stream. It does not decode: an event has an object's annotation,
// with its value after its key, once.
func (c *prebuilt) look(ctx context.Context) {
	defer close(c.changed)
	var text []byte
	for buffer := make([]byte, 32<<10); ; {
		n, err := c.stream.Read(buffer)
		if err != nil {
			return
		}
		text = append(text, buffer[:n]...)
		for {
			change, rest := numberAfter(text, changeKey, len(firstChange))
			if change == "" {
				break
			}
			text = rest
			select {
			case c.changed <- change:
			case <-ctx.Done():
				return
			}
		}
		text = append(text[:0], text[max(0, len(text)-len(changeKey)-longest):]...)
	}
}

// longest is how far a value's end may be from its key's.
const longest = 32

// numberAfter finds a key with a value of so many digits, 0 for any number, and returns the value
// and what comes after it; "" without one. Between key and value are at most 3 bytes, whatever the
// content type.
func numberAfter(text []byte, key string, digits int) (value string, rest []byte) {
	for {
		_, after, found := bytes.Cut(text, []byte(key))
		if !found {
			return "", nil
		}
		from := bytes.IndexFunc(after[:min(4, len(after))], isDigit)
		if from >= 0 {
			to := from
			for to < len(after) && isDigit(rune(after[to])) && (digits == 0 || to-from < digits) {
				to++
			}
			if to-from >= digits {
				return string(after[from:to]), after[to:]
			}
		}
		text = after
	}
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func (c *prebuilt) seen(_ *lane, _, change string) error {
	ctx, cancel := context.WithTimeout(c.in.ctx, patience)
	defer cancel()
	for {
		select {
		case got, ok := <-c.changed:
			if !ok {
				return errors.New("watch: the server ended it")
			}
			if got == change {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("watch: no event within %v", patience)
		}
	}
}

func (c *prebuilt) close() error {
	if c.cancel != nil {
		c.cancel()
	}
	if c.stream != nil {
		_ = c.stream.Close()
	}
	if c.changed != nil {
		for range c.changed { // until the watch's goroutine has ended
		}
	}
	return c.raw.close()
}
