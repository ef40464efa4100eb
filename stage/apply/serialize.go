package apply

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"postage/internal/sys/kube"
	"postage/lab"
)

// serializerOf returns apimachinery's serializer for a content type.
func serializerOf(m *media, creater runtime.ObjectCreater, typer runtime.ObjectTyper) runtime.Serializer {
	switch m.name {
	case "json":
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, creater, typer, json.SerializerOptions{})
	case "yaml":
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, creater, typer, json.SerializerOptions{Yaml: true})
	case "protobuf":
		return protobuf.NewSerializer(creater, typer)
	}
	return cbor.NewSerializer(creater, typer)
}

// subject is the object that is encoded and decoded.
type subject struct {
	name string // its name in rows
	doc  string
	make func() runtime.Object
	// maps says that the object is no Go type's, as the server and client-go's dynamic client have
	// custom resources. These have no protobuf.
	maps bool
}

func subjects() []subject {
	var all []subject
	for _, k := range kinds() {
		all = append(all, subject{name: k.name, doc: "a " + k.name, make: func() runtime.Object {
			o := k.make(metav1.ObjectMeta{Name: "hello", Namespace: "default", Labels: map[string]string{"app": "hello"}})
			o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: kindOf(o)})
			return o
		}})
	}
	return append(all, subject{"release", "a custom resource of 4 KB", release, true})
}

// releaseText is a custom resource like users' own, most of it status: what is to run, and what
// does. Its fields resemble an Application of Argo CD.
//
//go:embed release.json
var releaseText []byte

func release() runtime.Object {
	u := new(unstructured.Unstructured)
	if err := u.UnmarshalJSON(releaseText); err != nil {
		panic(err)
	}
	return u
}

// kindOf is the name of the object's type.
func kindOf(o runtime.Object) string {
	gvks, _, err := kube.Scheme.ObjectKinds(o)
	if err != nil || len(gvks) == 0 {
		panic(fmt.Sprintf("apply: %T is not in client-go's scheme: %v", o, err))
	}
	return gvks[0].Kind
}

// serializing is a serializer at work.
type serializing struct {
	media    media
	codec    runtime.Serializer
	object   runtime.Object // what is encoded
	maps     bool           // the object is of maps
	buffer   bytes.Buffer
	text     []byte // the encoded object
	decoding bool
	result   runtime.Object
}

var (
	_ lab.Instance = (*serializing)(nil)
	_ lab.Metered  = (*serializing)(nil)
)

func openSerializing(m media, s subject, decoding bool) (*serializing, error) {
	in := &serializing{media: m, codec: serializerOf(&m, kube.Scheme, kube.Scheme), object: s.make(), maps: s.maps, decoding: decoding}
	if s.maps {
		in.codec = serializerOf(&m, unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper())
	}
	if err := in.encode(); err != nil {
		return nil, err
	}
	in.text = bytes.Clone(in.buffer.Bytes())
	return in, nil
}

func (in *serializing) encode() error {
	in.buffer.Reset()
	return in.codec.Encode(in.object, &in.buffer)
}

func (in *serializing) operate() (err error) {
	if in.decoding {
		var into runtime.Object
		if in.maps {
			into = new(unstructured.Unstructured)
		}
		in.result, _, err = in.codec.Decode(in.text, nil, into)
		return err
	}
	return in.encode()
}

const serializeChecks = "the bytes begin as the content type's do; client-go's codecs (for CBOR and for maps, apimachinery's, strict) decode them to an object equal to the one encoded; where decoding is measured, the measured serializer does so too"

// Prove decodes the bytes with codecs of client-go, which detect the content type themselves, or of
// apimachinery, and checks what the measured serializer decoded.
func (in *serializing) Prove(context.Context) error {
	in.result = nil
	if err := in.operate(); err != nil {
		return err
	}
	text := in.buffer.Bytes() // the decoded object, if decoding is measured
	if !in.media.begins(text) {
		return fmt.Errorf("the bytes begin with %q", head(text))
	}
	decoded, err := runtime.Decode(in.checker(), text)
	if err != nil {
		return err
	}
	if err := in.check(decoded); err != nil || !in.decoding {
		return err
	}
	if in.result == nil {
		return errors.New("nothing was decoded")
	}
	return in.check(in.result)
}

// checker is the decoder of the proof. Of maps it reads JSON and YAML alike.
func (in *serializing) checker() runtime.Decoder {
	creater, typer := unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper()
	switch {
	case in.maps && in.media.name == "cbor":
		return cbor.NewSerializer(creater, typer, cbor.Strict(true))
	case in.maps:
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, creater, typer, json.SerializerOptions{Yaml: true, Strict: true})
	case in.media.name == "cbor": // whether client-go's gate is open or not
		return cbor.NewSerializer(kube.Scheme, kube.Scheme, cbor.Strict(true))
	}
	return kube.Codecs.UniversalDeserializer()
}

// check compares the decoded object with the original. Codecs take the kind from the caller, and
// some then leave it out of the object.
func (in *serializing) check(decoded runtime.Object) error {
	want := in.object.DeepCopyObject()
	for _, o := range []runtime.Object{decoded, want} {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	if !equality.Semantic.DeepEqual(decoded, want) {
		return errors.New("what was decoded is not what was encoded")
	}
	return nil
}

func (in *serializing) Run(n int) error {
	for range n {
		if err := in.operate(); err != nil {
			return fmt.Errorf("apply: serialize: %w", err)
		}
	}
	return nil
}

func (in *serializing) Metrics() map[string]float64 {
	return map[string]float64{"encoded-bytes": float64(len(in.text))}
}

func (in *serializing) Close() error { return nil }

// copying is the floor: it copies the bytes.
type copying struct {
	from, to []byte
}

var _ lab.Instance = (*copying)(nil)

func (in *copying) Prove(context.Context) error {
	clear(in.to)
	if err := in.Run(1); err != nil {
		return err
	}
	if !bytes.Equal(in.from, in.to) {
		return errors.New("the copy differs")
	}
	return nil
}

func (in *copying) Run(n int) error {
	for range n {
		copy(in.to, in.from)
	}
	return nil
}

func (in *copying) Close() error { return nil }
