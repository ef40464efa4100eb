package runtime

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/runtime/protoimpl"
)

// A Type codes messages T that come from another package than the message around them.
type Type[T any] struct {
	size   func(*T) int
	encode func(*T, *Encoder, []byte, int, uint64) ([]byte, int)
	decode func(*T, *Decoder, []byte, int, int) (*T, int)
	slow   bool // protobuf-go codes them
}

// types holds the types whose packages were initialized.
var types sync.Map // reflect.Type to *Type

// TypeOf returns how messages T are coded: by generated code, by this package, or by protobuf-go.
// Generated code calls it when the package of T has been initialized.
func TypeOf[T any]() *Type[T] {
	key := reflect.TypeFor[T]()
	if t, ok := types.Load(key); ok {
		return t.(*Type[T])
	}
	if t, ok := knownTypes[key]; ok {
		return t.(*Type[T])
	}
	return &Type[T]{slowSize[T], slowEncode[T], slowDecode[T], true}
}

// Slow says whether protobuf-go codes the messages.
func (t *Type[T]) Slow() bool { return t.slow }

// Size is the size of m, without its length and tag.
func (t *Type[T]) Size(m *T) int { return t.size(m) }

// Encode writes m with its length and tag before.
func (t *Type[T]) Encode(e *Encoder, w []byte, i int, m *T, tag uint64) ([]byte, int) {
	return t.encode(m, (*Encoder)(noescape(unsafe.Pointer(e))), w, i, tag)
}

// Decode merges a message, whose length is at p[i], into m or into a new one. depth is how much
// deeper the message around it may be nested.
func (t *Type[T]) Decode(d *Decoder, p []byte, i, depth int, m *T) (*T, int) {
	d, p, i, depth = d.Part(p, i, depth)
	return t.decode(m, (*Decoder)(noescape(unsafe.Pointer(d))), p, i, depth)
}

// DecodeGroup is Decode for the group of a field.
func (t *Type[T]) DecodeGroup(d *Decoder, p []byte, i, depth int, number protowire.Number, m *T) (*T, int) {
	if depth <= 0 {
		return m, tooDeep
	}
	v, n := protowire.ConsumeGroup(number, p[i:])
	if n < 0 {
		return m, malformed
	}
	m, end := t.decode(m, (*Decoder)(noescape(unsafe.Pointer(d))), v, 0, depth-1)
	if end < 0 {
		return m, end
	}
	return m, i + n
}

// slowSize, slowEncode and slowDecode take messages of gogo/protobuf too, which have no reflection.
func slowSize[T any](m *T) int { return proto.Size(protoimpl.X.ProtoMessageV2Of(m)) }

func slowEncode[T any](m *T, e *Encoder, w []byte, i int, tag uint64) ([]byte, int) {
	end := len(w) - i
	o := proto.MarshalOptions{AllowPartial: true, Deterministic: e.Deterministic()}
	// Computed anew at each level, the sizes of a deep message would take time of its depth's square.
	o.UseCachedSize = e.sized || e.Flags&protoiface.MarshalUseCachedSize != 0
	message := protoimpl.X.ProtoMessageV2Of(m)
	size := o.Size(message)
	w, i = e.room(w, i, size)
	o.UseCachedSize = true
	out, err := o.MarshalAppend(w[i-size:i-size:i], message)
	if err != nil {
		e.fail(err)
		return w, i
	}
	if len(out) != size { // lazily decoded parts may be shorter than their size
		w, i = e.room(w, i, len(out))
		copy(w[i-len(out):], out)
	}
	return e.Length(w, i-len(out), end, tag)
}

func slowDecode[T any](m *T, d *Decoder, p []byte, i, depth int) (*T, int) {
	if m == nil {
		m = new(T)
	}
	if i < 0 {
		return m, i
	}
	o := proto.UnmarshalOptions{Merge: true, AllowPartial: true, RecursionLimit: depth + 1}
	if d.in != nil {
		o.Resolver = d.in.Resolver
		o.DiscardUnknown = d.in.Flags&protoiface.UnmarshalDiscardUnknown != 0
		o.NoLazyDecoding = d.in.Flags&protoiface.UnmarshalNoLazyDecoding != 0
	}
	out, err := o.UnmarshalState(protoiface.UnmarshalInput{Message: protoimpl.X.MessageOf(m), Buf: p[i:]})
	if err != nil {
		d.err = err
		return m, failed
	}
	d.partial = d.partial || out.Flags&protoiface.UnmarshalInitialized == 0
	return m, len(p)
}

// UnmarshalAlias is proto.Unmarshal, but the strings and bytes of a hooked message are parts of data.
func UnmarshalAlias(data []byte, m proto.Message) error {
	r := m.ProtoReflect()
	if _, ok := originals.Load(r.ProtoMethods()); !ok {
		return proto.Unmarshal(data, m)
	}
	proto.Reset(m)
	out, err := r.ProtoMethods().Unmarshal(protoiface.UnmarshalInput{
		Message: r, Buf: data, Resolver: protoregistry.GlobalTypes,
		Flags: protoiface.UnmarshalAliasBuffer, Depth: protowire.DefaultRecursionLimit,
	})
	if err == nil && out.Flags&protoiface.UnmarshalInitialized == 0 {
		err = proto.CheckInitialized(m)
	}
	return err
}

// outgrown answers a panic of generated code that wrote beyond its buffer, because the message was
// changed after its size was computed. protobuf-go then encodes it, or returns an error.
func outgrown(panicked any, in protoiface.MarshalInput, cache *int32, size int) (protoiface.MarshalOutput, error) {
	if e, ok := panicked.(runtime.Error); !ok || !strings.Contains(e.Error(), "out of range") {
		panic(panicked)
	}
	if before, ok := cachedSize(cache, in.Flags); ok && before == size {
		return protoiface.MarshalOutput{Buf: in.Buf}, failure{errors.New("size mismatch: the message was changed while it was encoded")}
	}
	methods := Original(in.Message)
	methods.Size(protoiface.SizeInput{Message: in.Message, Flags: in.Flags &^ protoiface.MarshalUseCachedSize})
	return methods.Marshal(in)
}
