package runtime

import (
	"errors"
	"runtime"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/runtime/protoimpl"
)

// This file leaves to protobuf-go what no code was generated for.

func (d *Decoder) flags() protoiface.UnmarshalInputFlags {
	if d.in == nil {
		return 0
	}
	return d.in.Flags
}

// Fallback has protobuf-go decode one field of m: an extension in a group, or a group of another
// package. depth is how much deeper messages in m may be nested.
func (d *Decoder) Fallback(p []byte, i int, tag uint64, m proto.Message, depth int) int {
	j := fieldEnd(p, i, tag)
	if j < 0 {
		return j
	}
	return d.fallback(p[tagBegin(p, i, tag):j:j], j, m, depth)
}

// Rest has protobuf-go decode an extension of m, and all that follows it: extensions are first where
// protobuf-go has encoded them, and last where others have.
func (d *Decoder) Rest(p []byte, i int, tag uint64, m proto.Message, depth int) int {
	if i < 0 {
		return i
	}
	return d.fallback(p[tagBegin(p, i, tag):], len(p), m, depth)
}

// fallback returns end. The fields are not copied: they may hold others that come here, and so on,
// and copies of what is left at each level would take memory of the length's square.
func (d *Decoder) fallback(fields []byte, end int, m proto.Message, depth int) int {
	var in protoiface.UnmarshalInput
	if d.in != nil {
		in = *d.in
	}
	in.Message = m.ProtoReflect()
	in.Buf = fields
	in.Flags &^= protoiface.UnmarshalAliasBuffer
	in.Depth = depth + 1
	in.Resolver = withDepth(d.resolver(), depth)
	out, err := Original(in.Message).Unmarshal(in)
	if err != nil {
		d.err = err
		return failed
	}
	d.partial = d.partial || out.Flags&protoiface.UnmarshalInitialized == 0
	return end
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

// fieldEnd is Skip for what protobuf-go decodes next. It does not look at the numbers at which
// groups end, nor at how deep they are: protobuf-go does, and counts anew at each unknown one.
func fieldEnd(p []byte, i int, tag uint64) int {
	if protowire.Type(tag&7) != protowire.StartGroupType {
		return Skip(p, i, tag)
	}
	for open := 1; open > 0; {
		number, wire, n := protowire.ConsumeTag(p[i:])
		if n < 0 {
			return malformed
		}
		i += n
		switch wire {
		case protowire.StartGroupType:
			open++
		case protowire.EndGroupType:
			open--
		default:
			if n = protowire.ConsumeFieldValue(number, wire, p[i:]); n < 0 {
				return malformed
			}
			i += n
		}
	}
	return i
}

// A resolver finds extensions, as protoiface.UnmarshalInput has it.
type resolver interface {
	FindExtensionByName(protoreflect.FullName) (protoreflect.ExtensionType, error)
	FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error)
}

// A deepResolver also says how much deeper messages may be nested. protobuf-go starts to count
// again at each message in an extension. So only the stack limits a message that holds itself
// there. But protobuf-go hands on the resolver, and with it our count.
type deepResolver struct {
	resolver
	depth int
}

func withDepth(r resolver, depth int) resolver {
	if outer, ok := r.(*deepResolver); ok {
		r = outer.resolver
	}
	return &deepResolver{r, depth}
}

// depthOf is how deeply messages may be nested in a call's message.
func depthOf(in *protoiface.UnmarshalInput) int {
	if r, ok := in.Resolver.(*deepResolver); ok {
		return min(in.Depth, r.depth)
	}
	return in.Depth
}

// tagBegin returns where the tag that ends before p[i] begins. It may have been written in more
// bytes than it needs.
func tagBegin(p []byte, i int, tag uint64) int {
	k := i - 1
	for {
		if v, n := protowire.ConsumeVarint(p[k:i]); v == tag && n == i-k {
			return k
		}
		k--
	}
}

// Foreign decodes a message whose code another generator made, into m or into a new one. depth is
// how much deeper the message around it may be nested.
func Foreign[T any](d *Decoder, p []byte, i, depth int, m *T) (*T, int) {
	if m == nil {
		m = new(T)
	}
	return m, d.foreign(p, i, depth, m, d.resolver())
}

// DeepForeign is Foreign for a message that can hold extensions: one of them may be the message
// around it, and so on. protobuf-go decodes nothing lazily with a resolver that is not its own.
func DeepForeign[T any](d *Decoder, p []byte, i, depth int, m *T) (*T, int) {
	if m == nil {
		m = new(T)
	}
	d.partial = true
	r := d.resolver()
	if !Hooked(reflected(m)) {
		r = withDepth(r, depth-1)
	}
	return m, d.foreign(p, i, depth, m, r)
}

// reflected is m, or a wrapper of it if its code was generated before there was reflection, as
// gogo/protobuf does still.
func reflected(m any) proto.Message {
	if v, ok := m.(proto.Message); ok {
		return v
	}
	return protoimpl.X.ProtoMessageV2Of(m)
}

func (d *Decoder) resolver() resolver {
	if d.in == nil || d.in.Resolver == nil {
		return protoregistry.GlobalTypes
	}
	return d.in.Resolver
}

func (d *Decoder) foreign(p []byte, i, depth int, m any, r resolver) int {
	v, i := chunk(p, i)
	if i < 0 {
		return i
	}
	limit := depth
	if _, ok := m.(proto.Message); !ok {
		limit = 0 // protobuf-go starts to count again at a message without reflection
	} else if depth <= 0 {
		return tooDeep
	}
	if readKnown(m, v) {
		return i
	}
	o := proto.UnmarshalOptions{
		Merge:          true,
		AllowPartial:   true,
		DiscardUnknown: d.flags()&protoiface.UnmarshalDiscardUnknown != 0,
		NoLazyDecoding: d.flags()&protoiface.UnmarshalNoLazyDecoding != 0,
		RecursionLimit: limit,
		Resolver:       r,
	}
	if err := o.Unmarshal(v, reflected(m)); err != nil {
		d.err = err
		return failed
	}
	return i
}

// Fallback writes m with protobuf-go: generated code leaves messages that have extensions to it.
func (e *Encoder) Fallback(w []byte, i int, m proto.Message) ([]byte, int) {
	r := m.ProtoReflect()
	return e.original(w, i, r, Original(r))
}

// original writes a message by methods of a table.
func (e *Encoder) original(w []byte, i int, r protoreflect.Message, methods *protoiface.Methods) ([]byte, int) {
	// With MarshalUseCachedSize, r returns the size that the caller's Size left in it. Computed anew
	// at each level, the sizes of a deep message would take time of its depth's square.
	size := methods.Size(protoiface.SizeInput{Message: r, Flags: e.Flags}).Size
	w, i = e.room(w, i, size)
	out, err := methods.Marshal(protoiface.MarshalInput{
		Message: r,
		Buf:     w[i-size : i-size : i],
		Flags:   e.Flags | protoiface.MarshalUseCachedSize,
	})
	return e.take(w, i, size, out.Buf, err)
}

// Foreign writes m, whose code another generator made, with its length and tag before.
func (e *Encoder) Foreign(w []byte, i int, m any, tag uint64) ([]byte, int) {
	if k, ok := knownOf(m); ok {
		return e.putKnown(w, i, k, tag)
	}
	end := len(w) - i
	r := reflected(m).ProtoReflect()
	if methods := r.ProtoMethods(); methods != nil && methods.Size != nil {
		w, i = e.original(w, i, r, methods)
		return e.Length(w, i, end, tag)
	}
	o := proto.MarshalOptions{AllowPartial: true, Deterministic: e.Deterministic()}
	out, err := o.Marshal(r.Interface())
	w, i = e.take(w, i, 0, out, err)
	return e.Length(w, i, end, tag)
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

// take makes sure that out is at w[i-size:i].
func (e *Encoder) take(w []byte, i, size int, out []byte, err error) ([]byte, int) {
	if err != nil {
		e.fail(err)
		return w, i
	}
	if len(out) != size { // lazily decoded parts may be shorter than their size
		w, i = e.room(w, i, len(out))
		copy(w[i-len(out):], out)
	}
	return w, i - len(out)
}

// ForeignSize is the size of what Foreign writes.
func ForeignSize(m any) int {
	if k, ok := knownOf(m); ok {
		return k.size()
	}
	return proto.Size(reflected(m))
}

// FallbackSize is the size of what Fallback writes.
func FallbackSize(m proto.Message) int {
	r := m.ProtoReflect()
	return Original(r).Size(protoiface.SizeInput{Message: r}).Size
}
