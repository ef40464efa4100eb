// Package bind knows the encode stage's messages in every form that a codec uses.
//
// A form is one library's own type for a message: protobuf's generated struct, Polyglot's, a
// FlatBuffers table. The plain form is a Go struct as one would write it by hand. Corpora are made
// in it, and every proof compares in it. For each form and message, generated functions convert
// from and to the plain form, and read every field. The same generator makes them for all forms,
// and for each message a kit of its forms. What contenders pay for reading what they decoded
// therefore differs only by how their form stores a field.
package bind

import (
	"math"

	"buf.build/go/hyperpb"
	"capnproto.org/go/capnp/v3"
	"github.com/VictoriaMetrics/easyproto"
	flatbuffers "github.com/google/flatbuffers/go"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Form is one library's type V for a message whose plain struct is M.
type Form[M, V any] struct {
	// From returns the message in its library's form. It may share memory with m.
	From func(m *M) *V
	// To sets m to the content of v. It may share memory with v.
	To func(v *V, m *M) error
	// Read reads every field of v and returns a sum over them, which is the same in all forms. It
	// ignores m, which gives Read and Same the same signature.
	Read func(v *V, m *M) (uint64, error)
	// Some is like Read, but reads two fields: a text, and the last value of a part.
	Some func(v *V, m *M) (uint64, error)
	// Same compares every field of v with m and returns 1 if all are equal, else 0. Only the plain
	// form has it.
	Same func(v *V, m *M) (uint64, error)
}

// Easyproto has the functions that one writes by hand for easyproto, on the plain struct. Unmarshal
// resets m first and reuses its memory.
type Easyproto[M any] struct {
	Marshal        func(m *M, mm *easyproto.MessageMarshaler)
	Unmarshal      func(m *M, src []byte) error
	UnmarshalAlias func(m *M, src []byte) error // strings and bytes are parts of src
}

// Hyperpb reads a message that hyperpb decoded. Descriptor is the one that it was compiled from.
// There is no From: such messages cannot be built.
type Hyperpb[M any] struct {
	Descriptor func() protoreflect.MessageDescriptor
	Form       func(protoreflect.MessageDescriptor) Form[M, hyperpb.Message]
}

// Capnp builds and reads a message in Cap'n Proto. Its messages exist only in encoded form, so
// there is no From: Build is part of encoding.
type Capnp[M, V any] struct {
	Build      func(m *M, seg *capnp.Segment) error
	Root       func(msg *capnp.Message, v *V) error
	To         func(v *V, m *M) error
	Read, Some func(v *V, m *M) (uint64, error)
}

// Flatbuffers builds and reads a message in FlatBuffers. As with Capnp, Build is part of encoding.
type Flatbuffers[M, V any] struct {
	Build      func(m *M, b *FlatBuilder)
	Root       func(data []byte, v *V)
	To         func(v *V, m *M) error
	Read, Some func(v *V, m *M) (uint64, error)
}

// A FlatBuilder is a FlatBuffers builder with a stack for the offsets of parts that wait for their
// vector.
type FlatBuilder struct {
	Builder *flatbuffers.Builder
	waiting []flatbuffers.UOffsetT
}

func (b *FlatBuilder) mark() int                    { return len(b.waiting) }
func (b *FlatBuilder) push(at flatbuffers.UOffsetT) { b.waiting = append(b.waiting, at) }

// vector ends a vector that has been started. It gets the offsets pushed since the mark.
func (b *FlatBuilder) vector(mark int) flatbuffers.UOffsetT {
	parts := b.waiting[mark:]
	for i := len(parts) - 1; i >= 0; i-- {
		b.Builder.PrependUOffsetT(parts[i])
	}
	b.waiting = b.waiting[:mark]
	return b.Builder.EndVector(len(parts))
}

// Text reads a text or byte string: its length, and its first and last byte.
func Text[T string | []byte](s T) uint64 {
	if len(s) == 0 {
		return 0
	}
	return uint64(len(s)) + uint64(s[0]) + uint64(s[len(s)-1])
}

// sameDouble distinguishes 0 from -0, and treats all NaNs as equal.
func sameDouble(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
