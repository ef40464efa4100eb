package runtime

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"
)

// originals holds what a message's table had before Hook, by the table's address.
var originals sync.Map // *protoiface.Methods to protoiface.Methods

// Original returns protobuf-go's own methods for a message.
func Original(m protoreflect.Message) *protoiface.Methods {
	table := m.ProtoMethods()
	if o, ok := originals.Load(table); ok {
		return o.(*protoiface.Methods)
	}
	return table
}

// A pointer is a pointer to a message T.
type pointer[T any] interface {
	*T
	proto.Message
}

// Hook makes proto.Marshal, proto.Unmarshal and proto.Size of messages M use generated functions.
// Generated code calls it from init functions. bounded is nil, or encodes the message without the
// rest; whole says that no field that the schema shows is required; shrinks that protobuf-go may have
// left some of it undecoded, and that it may be shorter when encoded deterministically; others are the
// types of the fields that hold messages of other packages.
func Hook[T any, M pointer[T]](whole, shrinks bool, bounded func(M, []byte) []byte, size func(M) int,
	encode func(M, *Encoder, []byte, int, uint64) ([]byte, int),
	decode func(M, *Decoder, []byte, int, int) (M, int), others ...interface{ Slow() bool }) error {
	var m M
	slow := 0
	for _, t := range others {
		if t.Slow() {
			slow++
		}
	}
	if slow > 0 {
		if fields := m.ProtoReflect().Descriptor().Fields().Len(); 2*slow >= fields {
			return refuse(m, fmt.Errorf("it would not be faster: protobuf-go codes the messages of %d of its %d fields", slow, fields))
		}
	}
	types.Store(reflect.TypeFor[T](), &Type[T]{
		size:   any(size).(func(*T) int),
		encode: any(encode).(func(*T, *Encoder, []byte, int, uint64) ([]byte, int)),
		decode: any(decode).(func(*T, *Decoder, []byte, int, int) (*T, int)),
	})
	field, ok := reflect.TypeFor[T]().FieldByName("sizeCache")
	if !ok || field.Type.Kind() != reflect.Int32 {
		return refuse(m, errors.New("its struct has no sizeCache"))
	}
	return HookMethods(m, methods(stateOf(m), field.Offset, whole, shrinks, bounded, size, encode, decode))
}

// methods makes a table's methods of the generated functions.
func methods[M proto.Message](state unsafe.Pointer, sizeCache uintptr, whole, shrinks bool, bounded func(M, []byte) []byte, size func(M) int,
	encode func(M, *Encoder, []byte, int, uint64) ([]byte, int),
	decode func(M, *Decoder, []byte, int, int) (M, int)) *protoiface.Methods {
	fast := &protoiface.Methods{
		Size: func(in protoiface.SizeInput) protoiface.SizeOutput {
			m := messageOf[M](in.Message, state)
			cache := cacheOf(m, sizeCache)
			if cache == nil {
				return protoiface.SizeOutput{}
			}
			n, ok := cachedSize(cache, in.Flags)
			if !ok && shrinks && in.Flags&protoiface.MarshalDeterministic != 0 {
				return Original(in.Message).Size(in)
			}
			if !ok {
				n = size(m)
				cacheSize(cache, n)
			}
			return protoiface.SizeOutput{Size: n}
		},
		Marshal: func(in protoiface.MarshalInput) (out protoiface.MarshalOutput, err error) {
			m := messageOf[M](in.Message, state)
			e := Encoder{Flags: in.Flags}
			defer func() {
				if p := recover(); p != nil {
					out, err = outgrown(p, in, cacheOf(m, sizeCache), size(m))
				}
			}()
			var w []byte
			var i int
			if n, ok := cachedSize(cacheOf(m, sizeCache), in.Flags); ok {
				_, w, i, _ = e.StartSized(in.Buf, n)
			} else {
				_, w, i, _ = Start(&e, in.Buf, m, size)
			}
			w, i = encode(m, (*Encoder)(noescape(unsafe.Pointer(&e))), w, i, 0)
			out.Buf, err = e.Finish(w, i)
			return out, err
		},
		Unmarshal: func(in protoiface.UnmarshalInput) (out protoiface.UnmarshalOutput, err error) {
			d := Decoder{in: (*protoiface.UnmarshalInput)(noescape(unsafe.Pointer(&in)))}
			mode := Own | Apart
			if in.Flags&protoiface.UnmarshalAliasBuffer != 0 {
				mode = 0
			}
			_, p, i, _ := d.Start(in.Buf, mode)
			depth := in.Depth - 1
			if depth < 0 {
				i = tooDeep
			}
			into := messageOf[M](in.Message, state)
			if len(in.Buf) > 0 && cacheOf(into, sizeCache) == nil {
				return out, ErrNil
			}
			m, i := decode(into, (*Decoder)(noescape(unsafe.Pointer(&d))), p, i, depth)
			if err = d.Finish(m, i); err == nil && whole && !d.partial {
				out.Flags = protoiface.UnmarshalInitialized
			}
			runtime.KeepAlive(&in)
			return out, err
		},
	}
	if bounded != nil {
		fast.Marshal = func(in protoiface.MarshalInput) (out protoiface.MarshalOutput, err error) {
			out.Buf = bounded(messageOf[M](in.Message, state), in.Buf)
			return out, nil
		}
	}
	return fast
}

// stateOf returns the first word of m.ProtoReflect(). protobuf-go makes that interface of the
// message's first field, so its second word is the message's address. If it is not, stateOf is nil.
func stateOf[M proto.Message](m M) unsafe.Pointer {
	fresh := m.ProtoReflect().Type().New()
	p, ok := fresh.Interface().(M)
	if words := wordsOf(&fresh); ok && words[1] == *(*unsafe.Pointer)(unsafe.Pointer(&p)) { // M is a pointer
		return words[0]
	}
	return nil
}

// wordsOf returns the two words of an interface: its type and its address.
func wordsOf(in *protoreflect.Message) *[2]unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(in))
}

// messageOf is in.Interface, which would take two calls.
func messageOf[M proto.Message](in protoreflect.Message, state unsafe.Pointer) M {
	if words := wordsOf(&in); words[0] == state {
		return *(*M)(unsafe.Pointer(&words[1]))
	}
	return in.Interface().(M)
}

// cacheOf is the address of a message's size cache, or nil if there is no message.
func cacheOf[M any](m M, offset uintptr) *int32 {
	at := *(*unsafe.Pointer)(unsafe.Pointer(&m)) // M is a pointer
	if at == nil {
		return nil
	}
	return (*int32)(unsafe.Add(at, offset))
}

// noescape hides from the compiler where p goes. The compiler must assume that a function called by
// its address keeps p; generated functions do not. The stack must not move while p is a number, so
// the stack is not split here, and checkptr does not look.
//
//go:nosplit
//go:nocheckptr
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// HookMethods makes proto.Marshal, proto.Unmarshal and proto.Size of messages like m use the given
// methods.
//
// protobuf-go keeps one table of methods for a type, in its MessageInfo, and uses it for every
// operation, but does not promise to. So this first puts methods there that only note that they
// were called, asks proto for all three operations, and sets the given methods only if each was
// called. Otherwise the table is left unchanged, and HookError gives the reason, too.
func HookMethods(m proto.Message, fast *protoiface.Methods) error { return refuse(m, hook(m, fast)) }

// refusals holds why messages are not hooked.
var refusals sync.Map // protoreflect.FullName to error

// refuse keeps err, if there is one, with the message's name for HookError.
func refuse(m proto.Message, err error) error {
	if err == nil {
		return nil
	}
	name := m.ProtoReflect().Descriptor().FullName()
	err = fmt.Errorf("%s: %w", name, err)
	refusals.Store(name, err)
	return err
}

func hook(m proto.Message, fast *protoiface.Methods) error {
	fresh := func() proto.Message { return m.ProtoReflect().Type().New().Interface() }
	table := m.ProtoReflect().ProtoMethods()
	if other := fresh().ProtoReflect().ProtoMethods(); other != table {
		return errors.New("two messages of the type have two tables of methods")
	}
	if table == nil || table.Marshal == nil || table.Unmarshal == nil || table.Size == nil {
		return errors.New("its table of methods lacks some")
	}
	if _, ok := originals.Load(table); ok {
		return errors.New("already hooked")
	}
	const wantFlags = protoiface.SupportMarshalDeterministic | protoiface.SupportUnmarshalDiscardUnknown
	if table.Flags != wantFlags {
		return fmt.Errorf("its table of methods has flags %#x, want %#x", table.Flags, wantFlags)
	}

	before := *table
	var marshalled, unmarshalled, sized int
	table.Size = func(protoiface.SizeInput) (out protoiface.SizeOutput) {
		sized++
		return out
	}
	table.Marshal = func(in protoiface.MarshalInput) (out protoiface.MarshalOutput, err error) {
		marshalled++
		out.Buf = in.Buf
		return out, nil
	}
	table.Unmarshal = func(protoiface.UnmarshalInput) (out protoiface.UnmarshalOutput, err error) {
		unmarshalled++
		return out, nil
	}
	probe := fresh()
	_, err := proto.MarshalOptions{AllowPartial: true}.Marshal(probe)
	if err == nil {
		err = proto.UnmarshalOptions{AllowPartial: true}.Unmarshal([]byte{0xff}, probe)
	}
	sizedBefore := sized
	size := proto.Size(probe)
	table.Size, table.Marshal, table.Unmarshal = before.Size, before.Marshal, before.Unmarshal
	if err != nil || size != 0 || marshalled != 1 || unmarshalled != 1 || sized != sizedBefore+1 {
		return fmt.Errorf("proto does not use the table of methods that messages have (%d Marshal, %d Unmarshal, %d Size, %v)", marshalled, unmarshalled, sized, err)
	}

	originals.Store(table, &before)
	table.Size, table.Marshal, table.Unmarshal = fast.Size, fast.Marshal, fast.Unmarshal
	return nil
}

// Hooked reports whether proto.Marshal, Unmarshal and Size use generated methods for messages like
// m.
func Hooked(m proto.Message) bool {
	_, ok := originals.Load(m.ProtoReflect().ProtoMethods())
	return ok
}

// HookError is nil if messages like m are hooked, and otherwise says why they are not.
func HookError(m proto.Message) error {
	if Hooked(m) {
		return nil
	}
	name := m.ProtoReflect().Descriptor().FullName()
	if reason, ok := refusals.Load(name); ok {
		return fmt.Errorf("pbfast: proto.Marshal and proto.Unmarshal run protobuf-go's own code: %w", reason.(error))
	}
	return fmt.Errorf("pbfast: protoc-gen-pbfast has generated no code for %s that proto.Marshal could run", name)
}
