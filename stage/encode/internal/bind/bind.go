// Package bind holds what the encode stage knows of its messages in every form that a
// codec wants them in.
//
// A form is one library's own type for a message: protobuf's generated struct,
// Polyglot's, a FlatBuffers table. The plain form is a Go struct as one would write it
// by hand; corpora are made in it, and every proof compares in it. For each form and
// message, generated functions convert from and to the plain form, read every field,
// and compare every field. They are generated alike for all forms, so that
// what contenders pay for reading what they decoded differs only by what their
// form makes of a field.
package bind

import (
	"fmt"
	"math"

	"buf.build/go/hyperpb"
	"capnproto.org/go/capnp/v3"
	"github.com/VictoriaMetrics/easyproto"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/mus-format/mus-go"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Form is a message's form V, for one library, beside its plain form M.
type Form[M, V any] struct {
	// From returns the message in its library's form. It may share memory with m.
	From func(m *M) *V
	// To sets m to what v says. It may share memory with v.
	To func(v *V, m *M) error
	// Read reads every field of v and returns a sum over them that is the same in
	// all forms. It ignores m, which is there so that Read and Same are called alike.
	Read func(v *V, m *M) (uint64, error)
	// Same compares every field of v with m's and returns 1 if all are the same,
	// else 0.
	Same func(v *V, m *M) (uint64, error)
}

// A Kit is what contenders need to know of one message: its plain struct M, its form for
// protobuf PB, with pbfast behind protobuf Hook, for vtprotobuf's pools Pool, and so on.
type Kit[M, PB, Hook, Pool, Poly, Cap, Flat any] struct {
	// Diff names the first field in which two messages differ and says how, or
	// returns "". Empty and nil slices and maps are the same, and so is any NaN; 0
	// and -0 are not.
	Diff func(got, want *M) string
	// Optionals says that the message has optional scalars.
	Optionals bool

	Plain       Form[M, M]
	Protobuf    Form[M, PB]
	Hooked      Form[M, Hook] // of which protobuf has pbfast encode and decode
	Pooled      Form[M, Pool]
	FromPool    func() *Pool
	Polyglot    Form[M, Poly]
	Easyproto   Easyproto[M]
	Mus         mus.Serializer[M]
	Hyperpb     Hyperpb[M]
	Capnp       Capnp[M, Cap]
	Flatbuffers Flatbuffers[M, Flat]
}

// Easyproto is what one writes by hand for easyproto, on the plain struct. Unmarshal
// resets m first and keeps the memory that it holds.
type Easyproto[M any] struct {
	Marshal        func(m *M, mm *easyproto.MessageMarshaler)
	Unmarshal      func(m *M, src []byte) error
	UnmarshalAlias func(m *M, src []byte) error // strings and bytes are parts of src
}

// Hyperpb is how to read a message that hyperpb decoded, given the descriptor by which it
// was compiled. There is no From: such messages cannot be built.
type Hyperpb[M any] struct {
	Descriptor func() protoreflect.MessageDescriptor
	Form       func(protoreflect.MessageDescriptor) Form[M, hyperpb.Message]
}

// Capnp is how to build and read a message in Cap'n Proto. Its messages live in their
// encoded form, so there is no From: Build is the encoder's work.
type Capnp[M, V any] struct {
	Build      func(m *M, seg *capnp.Segment) error
	Root       func(msg *capnp.Message, v *V) error
	To         func(v *V, m *M) error
	Read, Same func(v *V, m *M) (uint64, error)
}

// Flatbuffers is how to build and read a message in FlatBuffers; as with Capnp, Build is
// the encoder's work.
type Flatbuffers[M, V any] struct {
	Build      func(m *M, b *FlatBuilder)
	Root       func(data []byte, v *V)
	To         func(v *V, m *M) error
	Read, Same func(v *V, m *M) (uint64, error)
}

// A FlatBuilder is a FlatBuffers builder with a stack for the offsets of parts that are
// waiting for their vector.
type FlatBuilder struct {
	*flatbuffers.Builder
	waiting []flatbuffers.UOffsetT
}

func (b *FlatBuilder) mark() int                    { return len(b.waiting) }
func (b *FlatBuilder) push(at flatbuffers.UOffsetT) { b.waiting = append(b.waiting, at) }

// vector ends a vector that has been started, with the offsets pushed since the mark.
func (b *FlatBuilder) vector(mark int) flatbuffers.UOffsetT {
	parts := b.waiting[mark:]
	for i := len(parts) - 1; i >= 0; i-- {
		b.PrependUOffsetT(parts[i])
	}
	b.waiting = b.waiting[:mark]
	return b.EndVector(len(parts))
}

// Text reads a text or byte string: its length, first and last byte.
func Text[T string | []byte](s T) uint64 {
	if len(s) == 0 {
		return 0
	}
	return uint64(len(s)) + uint64(s[0]) + uint64(s[len(s)-1])
}

// sameDouble tells 0 from -0, and takes one NaN for another.
func sameDouble(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

type (
	presence bool
	count    int
)

func (p presence) String() string {
	if p {
		return "present"
	}
	return "absent"
}

func (c count) String() string { return fmt.Sprintf("%d elements", int(c)) }

// differ says how a field differs, in few words however long the values are.
func differ[T any](at string, got, want T) string {
	return fmt.Sprintf("%s: got %s, want %s", at, brief(got), brief(want))
}

func brief(value any) string {
	var s string
	switch value := value.(type) {
	case string, []byte:
		s = fmt.Sprintf("%q", value)
	default:
		s = fmt.Sprint(value)
	}
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}
