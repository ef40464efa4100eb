package apply

import (
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// forgetful leaves out the data of ConfigMaps when it encodes, and invents it when it decodes.
type forgetful struct {
	runtime.Serializer
	data map[string]string
}

func (f *forgetful) Encode(o runtime.Object, w io.Writer) error {
	c := o.DeepCopyObject().(*corev1.ConfigMap)
	f.data, c.Data = c.Data, nil
	return f.Serializer.Encode(c, w)
}

func (f *forgetful) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	o, kind, err := f.Serializer.Decode(text, defaults, into)
	if err == nil {
		o.(*corev1.ConfigMap).Data = f.data
	}
	return o, kind, err
}

// A serializer that only understands itself fails the proof, whether encoding is measured or
// decoding.
func TestSerializersMistake(t *testing.T) {
	for _, decoding := range []bool{false, true} {
		for _, m := range medias() {
			in, err := openSerializing(m, subjects()[0], decoding)
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Prove(t.Context()); err != nil {
				t.Error(err)
			}
			in.codec = &forgetful{Serializer: in.codec}
			if err := in.encode(); err != nil {
				t.Fatal(err)
			}
			in.text = in.buffer.Bytes()
			wantError(t, in.Prove(t.Context()), "what was decoded is not what was encoded")
		}
	}
}
