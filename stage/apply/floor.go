package apply

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"postage/internal/service/greeter/wire"
)

// prebuilt is the floor's caller. The bytes of its requests are made beforehand; only the object's
// name and the change are written into them. It reads no more of the responses than their status
// and their length. It uses protobuf, the cheapest content type for the server.
type prebuilt struct {
	in         *instance
	raw        *raw
	media      media
	collection string
	body       template // of an object
	options    []byte   // the body of a delete
	cancel     context.CancelFunc
	stream     io.ReadCloser
	changed    chan string // changes that the watch has reported; nil without a watch, closed when the watch ends
}

var _ caller = (*prebuilt)(nil)

// template is a body with places for the name and the change.
type template struct {
	text          []byte
	names, change []int
}

func openPrebuilt(in *instance) (caller, error) {
	config, err := in.reach.Config()
	if err != nil {
		return nil, err
	}
	c := &prebuilt{in: in, media: in.media, collection: in.kind.collection(in.reach.Namespace)}
	name := in.newName()
	if c.body.text, err = encoded(&c.media, &in.kind, in.object(name, firstChange)); err != nil {
		return nil, err
	}
	c.body.names, c.body.change = places(c.body.text, name), places(c.body.text, firstChange)
	if len(c.body.names) == 0 || len(c.body.change) != 1 {
		return nil, errors.New("the encoded object does not have its name and its annotation as text")
	}
	if c.options, err = encoded(&c.media, &kind{version: "v1"}, &metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	if c.raw, err = openRaw(in.ctx, config); err != nil {
		return nil, err
	}
	return c, nil
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
func (t *template) filled(name, change string) []byte {
	text := bytes.Clone(t.text)
	for _, at := range t.names {
		copy(text[at:], name)
	}
	for _, at := range t.change {
		copy(text[at:], change)
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
	return c.send(http.MethodPost, c.collection, c.body.filled(name, firstChange))
}

func (c *prebuilt) get(_ *lane, name string) error {
	return c.send(http.MethodGet, c.collection+"/"+name, nil)
}

func (c *prebuilt) update(_ *lane, name, change string) error {
	return c.send(http.MethodPut, c.collection+"/"+name, c.body.filled(name, change))
}

func (c *prebuilt) list(*lane, int) error {
	return c.send(http.MethodGet, c.collection+"?labelSelector="+url.QueryEscape(c.in.selector()), nil)
}

func (c *prebuilt) delete(_ *lane, name string) error {
	return c.send(http.MethodDelete, c.collection+"/"+name, c.options)
}

// follow opens a watch, and starts a goroutine that reads its frames: a length of four bytes, then
// an event.
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
	for range objects {
		if _, err := c.frame(nil); err != nil {
			return err
		}
	}
	c.changed = make(chan string, 1)
	go func() {
		defer close(c.changed)
		var frame []byte
		for {
			var err error
			if frame, err = c.frame(frame); err != nil {
				return
			}
			// The annotation's value comes after its key, and is the only text of this width there.
			_, after, _ := bytes.Cut(frame, []byte(changeKey))
			if len(after) < 2+len(firstChange) {
				continue
			}
			select {
			case c.changed <- string(after[2 : 2+len(firstChange)]):
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

func (c *prebuilt) frame(into []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(c.stream, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n > 1<<20 {
		return nil, fmt.Errorf("watch: an event of %d bytes", n)
	}
	if cap(into) < n {
		into = make([]byte, n)
	}
	_, err := io.ReadFull(c.stream, into[:n])
	return into[:n], err
}

func (c *prebuilt) seen(_ *lane, _, change string) error {
	ctx, cancel := context.WithTimeout(c.in.ctx, patience)
	defer cancel()
	for {
		select {
		case got, ok := <-c.changed:
			if !ok {
				return errors.New("watch: the server ended it")
			}
			if strings.Contains(got, change) {
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
