package apply

import (
	"context"
	"fmt"
	"time"

	"postage/internal/service/apiserver"
	"postage/lab"
	"postage/record"
)

// Suite returns the stage's cases. If the budget is too small, the last ones are left out.
func Suite() lab.Suite {
	use := new(serverFlags)
	services := map[string]*lab.Service{}
	return lab.Suite{
		Stage: "apply", Doc: "Objects into a Kubernetes-style API server: which content type?",
		Figures: figures(), Flags: use.register, Choose: use.choose, Server: use.server,
		Options: []lab.Option{
			{Name: "server", Values: []string{string(apiserver.Generic), string(apiserver.KCP), string(apiserver.Kubernetes), string(apiserver.User)}},
			{Name: "kind", Values: kindNames(), Default: []string{"configmap", "clusterrole", "release"}},
			{Name: "inflight", Values: []string{"1", "8"}},
			{Name: "fsync", Values: []string{"off", "on"}},
		},
		Make: func(set lab.Settings) []lab.Case { return cases(use, services, set) },
	}
}

// kindNames are the names of all objects that are sent, and of those that are only serialized.
func kindNames() []string {
	var names []string
	for _, s := range subjects() {
		names = append(names, s.name)
	}
	return names
}

// cases makes the cases of one kind of object. Cases share services, which are kept by the names
// of their variables.
func cases(use *serverFlags, services map[string]*lab.Service, set lab.Settings) (all []lab.Case) {
	s := spec{server: apiserver.Kind(set["server"]), inflight: 1}
	s.fsync = set["fsync"] == "on" && s.server != apiserver.User // whose disks are as they are
	name := variable(s.server, s.fsync)
	if services[name] == nil {
		services[name] = newService(use, s.server, s.fsync)
	}
	service := services[name]
	for _, k := range kinds() {
		if k.name != set["kind"] {
			continue
		}
		s.kind = k
		for _, name := range k.ops {
			s.op, s.inflight = opByName(name), set.Int("inflight")
			c := clientCase(s, service)
			c.Headline = name == crud && k.name == "configmap"
			all = append(all, c)
		}
		s.op, s.inflight = opByName(crud), 1
		all = append(all, mistakeCase(s, service))
	}
	for _, subject := range subjects() {
		if subject.name == set["kind"] {
			all = append(all, serializeCase(subject, false), serializeCase(subject, true))
		}
	}
	return all
}

// caseName returns Apply/server=…/fsync=…/op=…/kind=…/inflight=…. For a cluster of the user's,
// fsync is not known and left out.
func (s *spec) caseName() string {
	name := "Apply/server=" + string(s.server)
	if s.server != apiserver.User {
		fsync := "off"
		if s.fsync {
			fsync = "on"
		}
		name += "/fsync=" + fsync
	}
	return fmt.Sprintf("%s/op=%s/kind=%s/inflight=%d", name, s.op.name, s.kind.name, s.inflight)
}

// baseline is what client-go sends by default.
const baseline = "json"

// noProtobuf is why there is no custom resource in protobuf.
const noProtobuf = "the server knows a custom resource by its schema alone, which has no protobuf"

// clientCase compares the content types through client-go.
func clientCase(s spec, service *lab.Service) lab.Case {
	c := lab.Case{
		Name:     s.caseName(),
		Doc:      fmt.Sprintf("Which content type makes a %s cheapest: %s", s.kind.name, s.op.doc),
		Service:  service,
		Value:    record.ValueWall,
		Baseline: "as=" + baseline,
	}
	if s.inflight > 1 {
		c.Doc += fmt.Sprintf(", with %d under way at a time over one connection", s.inflight)
	}
	if s.fsync {
		c.Doc += ", when etcd waits for the disk, as in production"
	}
	c.Doc += "?"
	for _, m := range medias() {
		c.Contenders = append(c.Contenders, clientRow(s, m))
	}
	c.Contenders = append(c.Contenders, floor(s))
	return c
}

// clientRow is a content type through client-go.
func clientRow(s spec, m media) lab.Contender {
	return lab.Contender{
		Name: "as=" + m.name, Module: "k8s.io/client-go", Checks: checks,
		Settings: map[string]string{"as": m.name, "content-type": m.contentType, "limiter": "none", "connection": "one, HTTP/2 over TLS"},
		Open: func(ctx context.Context, _ lab.Env) (lab.Instance, error) {
			return opened(newInstance(ctx, s, m, openThrough))
		},
	}
}

// floor returns the contender that sends bytes made beforehand.
func floor(s spec) lab.Contender {
	m := byName("protobuf")
	return lab.Contender{
		Name: "floor=prebuilt", Floor: true,
		Checks:   "as the others, but the responses are not decoded",
		Settings: map[string]string{"floor": "prebuilt", "content-type": m.contentType},
		Open: func(ctx context.Context, _ lab.Env) (lab.Instance, error) {
			return opened(newInstance(ctx, s, m, openPrebuilt))
		},
	}
}

// mistakeCase repeats the page's mistake on purpose: see [openMistaken].
func mistakeCase(s spec, service *lab.Service) lab.Case {
	c := lab.Case{
		Name:     s.caseName() + "/limiter=default",
		Doc:      "What did the published page measure? Its clients were made before content type and limits were set: all send JSON, through client-go's default limiter of 5 requests a second",
		Batch:    600 * time.Millisecond,
		Service:  service,
		Value:    record.ValueWall,
		Baseline: "asked=" + baseline,
	}
	for _, m := range medias() {
		c.Contenders = append(c.Contenders, lab.Contender{
			Name: "asked=" + m.name, Module: "k8s.io/client-go",
			Checks:     "on the wire everything is JSON, whatever was asked for; the limiter is client-go's default; what was written is read back equal; nothing is left behind",
			Settings:   map[string]string{"asked": m.name, "sent": "json", "limiter": "5 requests a second after a burst of 10, client-go's default"},
			Properties: map[string]string{"sent": "json, whatever was asked"},
			Open: func(ctx context.Context, _ lab.Env) (lab.Instance, error) {
				return opened(newInstance(ctx, s, byName("json"), func(in *instance) (caller, error) { return openMistaken(in, &m) }))
			},
		})
	}
	c.Contenders = append(c.Contenders, floor(s))
	return c
}

// serializeCase compares apimachinery's serializers, without a server.
func serializeCase(s subject, decoding bool) lab.Case {
	way, doc := "encode", "to bytes"
	if decoding {
		way, doc = "decode", "from bytes"
	}
	c := lab.Case{
		Name:     "Apply/serialize=" + way + "/kind=" + s.name,
		Doc:      fmt.Sprintf("What does a serializer of apimachinery take by itself for %s, %s?", s.doc, doc),
		Headline: s.name == "clusterrole" && !decoding,
		Baseline: "as=" + baseline,
	}
	shortest := byName("protobuf")
	if s.maps {
		shortest = byName("cbor")
	}
	for _, m := range medias() {
		row := serializeRow(s, m, decoding)
		if m.name == "protobuf" && s.maps {
			row.NotPossible, row.Open = noProtobuf, nil
		}
		c.Contenders = append(c.Contenders, row)
	}
	c.Contenders = append(c.Contenders, lab.Contender{
		Name: "floor=memcpy", Floor: true, Checks: "the copy has the bytes of the original",
		Settings: map[string]string{"floor": "memcpy", "bytes": "of " + shortest.name + ", the shortest"},
		Open: func(context.Context, lab.Env) (lab.Instance, error) {
			in, err := openSerializing(shortest, s, false)
			if err != nil {
				return nil, fmt.Errorf("apply: serialize %s: %w", s.name, err)
			}
			return &copying{in.text, make([]byte, len(in.text))}, nil
		},
	})
	return c
}

// serializeRow is a serializer, of objects of their own type or of maps.
func serializeRow(s subject, m media, decoding bool) lab.Contender {
	row := lab.Contender{
		Name: "as=" + m.name, Module: m.module, Checks: serializeChecks,
		Settings: map[string]string{"as": m.name, "buffer": "reused", "lib": "apimachinery"},
		Open: func(context.Context, lab.Env) (lab.Instance, error) {
			in, err := openSerializing(m, s, decoding)
			if err != nil {
				return nil, fmt.Errorf("apply: serialize %s as %s: %w", s.name, m.name, err)
			}
			return in, nil
		},
	}
	if s.maps {
		row.Settings["objects"] = "maps, as in the server and in client-go's dynamic client"
	}
	return row
}

// opened prevents a nil *instance from becoming an interface that is not nil.
func opened(in *instance, err error) (lab.Instance, error) {
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	return in, nil
}
