package pbfast_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoiface"

	"postage/pbfast/runtime"
)

// A message has the methods that protoc-gen-pbfast makes.
type message interface {
	proto.Message
	SizeOf() int
	MarshalAppend([]byte) ([]byte, error)
	Unmarshal([]byte) error
	UnmarshalAlias([]byte) error
	UnmarshalReuse([]byte) error
	UnmarshalVT([]byte) error
	UnmarshalVTUnsafe([]byte) error
	MarshalVT() ([]byte, error)
}

// fresh returns a new message of the same type.
func fresh[M proto.Message](m M) M { return m.ProtoReflect().Type().New().Interface().(M) }

// theirs merges data into m by protobuf-go's own code.
func theirs(data []byte, m proto.Message, o proto.UnmarshalOptions) error {
	_, err := original(data, m, o)
	if err == nil && !o.AllowPartial {
		// Its own word for that, in the flags, overlooks fields within oneofs: TestRequiredInOneof.
		err = proto.CheckInitialized(m)
	}
	return err
}

func original(data []byte, m proto.Message, o proto.UnmarshalOptions) (protoiface.UnmarshalOutput, error) {
	in := protoiface.UnmarshalInput{Message: m.ProtoReflect(), Buf: data, Resolver: protoregistry.GlobalTypes, Depth: o.RecursionLimit}
	if o.DiscardUnknown {
		in.Flags |= protoiface.UnmarshalDiscardUnknown
	}
	if in.Depth == 0 {
		in.Depth = protowire.DefaultRecursionLimit
	}
	return runtime.Original(in.Message).Unmarshal(in)
}

// overlooks reports whether protobuf-go gives no error for what a message lacked before a merge, or
// for what one lacks that is not hooked.
func overlooks(data, before []byte, m message) bool {
	if before == nil && runtime.Hooked(m) || theirs(before, m, proto.UnmarshalOptions{AllowPartial: true}) != nil {
		return false
	}
	out, err := original(data, m, proto.UnmarshalOptions{})
	return err == nil && out.Flags&protoiface.UnmarshalInitialized != 0
}

// theirBytes encodes m by protobuf-go's own code, deterministically.
func theirBytes(m proto.Message) ([]byte, error) {
	r := m.ProtoReflect()
	flags := protoiface.MarshalDeterministic
	methods := runtime.Original(r)
	methods.Size(protoiface.SizeInput{Message: r, Flags: flags})
	out, err := methods.Marshal(protoiface.MarshalInput{Message: r, Flags: flags | protoiface.MarshalUseCachedSize})
	return out.Buf, err
}

// compare decodes data into copies of a message, in every way, and holds all to protobuf-go. before
// is what the message holds already, if not nil, and used what one that is used again held.
func compare(t testing.TB, subject message, before, used, data []byte) {
	t.Helper()
	for _, o := range []proto.UnmarshalOptions{
		{Merge: true, AllowPartial: true},
		{Merge: true},
		{Merge: true, AllowPartial: true, DiscardUnknown: true},
		{Merge: true, AllowPartial: true, RecursionLimit: 1},
		{Merge: true, AllowPartial: true, RecursionLimit: 3},
	} {
		if o.RecursionLimit > 0 && os.Getenv("POSTAGE_OLDEST") != "" {
			continue // the oldest protobuf-go forgets some levels of messages with the opaque API
		}
		want, got := fresh(subject), fresh(subject)
		if before != nil {
			if theirs(before, want, proto.UnmarshalOptions{AllowPartial: true}) != nil || theirs(before, got, proto.UnmarshalOptions{AllowPartial: true}) != nil {
				t.Fatal("the message before does not decode")
			}
		}
		input := bytes.Clone(data)
		wantErr, gotErr := theirs(data, want, o), o.Unmarshal(input, got)
		what := fmt.Sprintf("%T, %+v", subject, o)
		if gotErr == nil && wantErr != nil && !o.AllowPartial && overlooks(data, before, fresh(subject)) {
			wantErr = nil
		}
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%s: %x\nbefore %x\nerror %v, protobuf-go has %v", what, data, before, gotErr, wantErr)
		}
		for i := range input { // what was decoded has no part in it
			input[i] ^= 0x55
		}
		if wantErr == nil {
			same(t, what, got, want, data)
		}
	}
	if before == nil {
		methods(t, subject, used, data)
	}
}

// methods is compare for the methods on messages.
func methods(t testing.TB, subject message, used, data []byte) {
	t.Helper()
	want := fresh(subject)
	wantErr := theirs(data, want, proto.UnmarshalOptions{})
	for name, decode := range map[string]func(message, []byte) error{
		"Unmarshal":      message.Unmarshal,
		"UnmarshalAlias": message.UnmarshalAlias,
		"UnmarshalReuse": func(m message, data []byte) error {
			// The message kept has seen other input, this one, and failures.
			for _, before := range [][]byte{used, data, data[:len(data)/2]} {
				_ = m.UnmarshalReuse(bytes.Clone(before))
			}
			return m.UnmarshalReuse(data)
		},
	} {
		got, input := fresh(subject), bytes.Clone(data)
		err := decode(got, input)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%T.%s: %x\nerror %v, protobuf-go has %v", subject, name, data, err, wantErr)
		}
		if name != "UnmarshalAlias" && name != "UnmarshalReuse" {
			for i := range input {
				input[i] ^= 0x55
			}
		}
		if err == nil {
			same(t, fmt.Sprintf("%T.%s", subject, name), got, want, data)
		}
	}
}

// same holds a decoded message, and its encoding, to protobuf-go's.
func same(t testing.TB, what string, got, want message, data []byte) {
	t.Helper()
	wantBytes, wantErr := theirBytes(want)
	gotBytes, gotErr := theirBytes(got)
	if (wantErr == nil) != (gotErr == nil) || !bytes.Equal(gotBytes, wantBytes) {
		t.Fatalf("%s: %x\ndecoded to   %x, %v\nprotobuf-go's %x, %v", what, data, gotBytes, gotErr, wantBytes, wantErr)
	}
	encodes(t, what, want, wantBytes, wantErr)
}

// encodes holds every way to encode a message to protobuf-go's bytes.
func encodes(t testing.TB, what string, m message, want []byte, wantErr error) {
	t.Helper()
	for room := range 3 {
		buf := append(make([]byte, 0, room*(len(want)+300)/2+7), "before "...)
		got, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.MarshalAppend(buf, m)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: encode: error %v, protobuf-go has %v", what, err, wantErr)
		}
		if err == nil && string(got) != "before "+string(want) {
			t.Fatalf("%s: encoded to\n%x\nprotobuf-go's\n%x", what, got[7:], want)
		}
	}
	if n := proto.Size(m); wantErr == nil && n != len(want) {
		t.Fatalf("%s: size %d, want %d", what, n, len(want))
	}
	if proto.CheckInitialized(m) != nil {
		if _, err := m.MarshalAppend(nil); err == nil {
			t.Fatalf("%s: MarshalAppend overlooks a required field", what)
		}
		return
	}
	for round := range 3 { // into no memory, into a little, and into more than it takes
		kept := bytes.Repeat([]byte{0x55}, round*(len(want)+300)/2)
		got, err := m.MarshalAppend(kept[:0])
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: MarshalAppend: error %v, protobuf-go has %v", what, err, wantErr)
		}
		if err == nil {
			back := fresh(m)
			if err := theirs(got, back, proto.UnmarshalOptions{}); err != nil {
				t.Fatalf("%s: MarshalAppend, round %d: protobuf-go cannot decode it: %v", what, round, err)
			}
			if again, _ := theirBytes(back); !bytes.Equal(again, want) {
				t.Fatalf("%s: MarshalAppend: means something else\n%x\n%x", what, again, want)
			}
		}
	}
	got, err := m.MarshalVT()
	if (err == nil) != (wantErr == nil) || err == nil && len(got) != len(want) {
		t.Fatalf("%s: MarshalVT: %d bytes and %v, want %d and %v", what, len(got), err, len(want), wantErr)
	}
}

// fill sets random fields of a message to random values.
func fill(rnd *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	chance := 1 + rnd.IntN(8)
	for i := range fields.Len() {
		fd := fields.Get(i)
		if rnd.IntN(chance) != 0 || fd.Message() != nil && depth == 0 || unusable(fd) {
			continue
		}
		switch {
		case fd.IsMap():
			for range rnd.IntN(4) {
				value := m.Mutable(fd).Map().NewValue()
				if fd.MapValue().Message() != nil {
					fill(rnd, value.Message(), depth-1)
				} else {
					value = scalar(rnd, fd.MapValue())
				}
				m.Mutable(fd).Map().Set(scalar(rnd, fd.MapKey()).MapKey(), value)
			}
		case fd.IsList():
			for range rnd.IntN(5) {
				list := m.Mutable(fd).List()
				if fd.Message() != nil {
					fill(rnd, list.AppendMutable().Message(), depth-1)
				} else {
					list.Append(scalar(rnd, fd))
				}
			}
		case fd.Message() != nil:
			fill(rnd, m.Mutable(fd).Message(), depth-1)
		default:
			m.Set(fd, scalar(rnd, fd))
		}
	}
	if rnd.IntN(4) == 0 {
		unknown := protowire.AppendTag(nil, 3_000+protowire.Number(rnd.IntN(1000)), protowire.VarintType)
		m.SetUnknown(protowire.AppendVarint(unknown, rnd.Uint64()))
	}
}

// unusable says whether protobuf-go cannot handle the field: MessageSets need a build tag.
func unusable(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().Name() == "MessageSetCorrect"
}

func scalar(rnd *rand.Rand, fd protoreflect.FieldDescriptor) protoreflect.Value {
	x := rnd.Uint64() >> rnd.IntN(64)
	switch rnd.IntN(6) {
	case 0:
		x = 0
	case 1:
		x = math.MaxUint64
	case 2:
		x = 1 << 63
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(x&1 == 1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(x))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(x))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(x))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(x))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(x)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(math.Float32frombits(uint32(x)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Float64frombits(x))
	}
	b := make([]byte, rnd.IntN(20))
	if rnd.IntN(20) == 0 {
		b = make([]byte, rnd.IntN(6000))
	}
	for i := range b {
		b[i] = byte('a' + rnd.IntN(26))
	}
	if len(b) > 2 && rnd.IntN(3) == 0 {
		copy(b, "é")
	}
	if fd.Kind() == protoreflect.BytesKind {
		return protoreflect.ValueOfBytes(b)
	}
	return protoreflect.ValueOfString(string(b))
}

// damage changes, cuts or repeats some of data.
func damage(rnd *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + rnd.IntN(3) {
		if len(data) == 0 {
			return data
		}
		at := rnd.IntN(len(data))
		switch rnd.IntN(5) {
		case 0:
			data[at] = byte(rnd.Uint32())
		case 1:
			data[at] ^= 1 << rnd.IntN(8)
		case 2:
			data = data[:at]
		case 3:
			data = append(data[:at:at], data[at+rnd.IntN(len(data)-at):]...)
		case 4:
			end := at + rnd.IntN(len(data)-at)
			data = append(data[:end:end], data[at:]...)
		}
	}
	return data
}
