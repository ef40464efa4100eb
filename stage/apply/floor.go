package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"postage/internal/sys/kube"
)

// prebuilt is the floor's caller. The bytes of its requests are made beforehand; only the object's
// name and the change are written into them. It reads no more of the responses than their status
// and their length. It uses client-go's connection, and the content type that is cheapest for the
// server: protobuf.
type prebuilt struct {
	in         *instance
	client     *client
	media      media
	collection string
	body       []byte
	name       string // of the object in body
	options    []byte // the body of a delete
}

var _ caller = (*prebuilt)(nil)

func openPrebuilt(in *instance) (caller, error) {
	c := &prebuilt{in: in, media: in.media, collection: in.kind.collection(in.reach.Namespace), name: in.objects.newName()}
	var err error
	if c.body, err = encoded(&c.media, &c.in.kind, in.objects.object(c.name, firstChange)); err != nil {
		return nil, err
	}
	if !bytes.Contains(c.body, []byte(c.name)) || bytes.Count(c.body, []byte(firstChange)) != 1 {
		return nil, errors.New("the encoded object does not have its name and its annotation as text")
	}
	if c.options, err = encoded(&c.media, &kind{version: "v1"}, &metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	if c.client, err = openClient(&in.reach, &in.kind, &in.media); err != nil {
		return nil, err
	}
	return c, nil
}

// filled returns the body for an object.
func (c *prebuilt) filled(name, change string) []byte {
	return bytes.Replace(bytes.ReplaceAll(c.body, []byte(c.name), []byte(name)), []byte(firstChange), []byte(change), 1)
}

func (c *prebuilt) connection() *client { return c.client }

// send makes a request and discards the response's body.
func (c *prebuilt) send(method, path string, body []byte) error {
	response, err := c.client.send(c.in.objects.ctx, method, path, c.media.contentType, c.media.contentType, body)
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
	return c.send(http.MethodPost, c.collection, c.filled(name, firstChange))
}

func (c *prebuilt) get(_ *lane, name string) error {
	return c.send(http.MethodGet, c.collection+"/"+name, nil)
}

func (c *prebuilt) update(_ *lane, name, change string) error {
	return c.send(http.MethodPut, c.collection+"/"+name, c.filled(name, change))
}

func (c *prebuilt) list(*lane, int) error {
	return c.send(http.MethodGet, c.collection+"?labelSelector="+url.QueryEscape(c.in.objects.selector()), nil)
}

// checkList looks for the objects' names in what came, which nothing decodes. Servers sort them.
func (c *prebuilt) checkList(seen []*exchange) error {
	for _, e := range seen {
		rest, found := e.response, false
		for _, name := range c.in.objects.ready {
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

// encoded returns an object as client-go sends it.
func encoded(m *media, k *kind, o runtime.Object) ([]byte, error) {
	s := serializerOf(m, kube.Scheme, kube.Scheme)
	return runtime.Encode(kube.Codecs.EncoderForVersion(s, schema.GroupVersion{Group: k.group, Version: k.version}), o)
}
