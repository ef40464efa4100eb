package pbfast_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	"postage/pbfast"
	"postage/pbfast/internal/testmessages/edition2023"
	"postage/pbfast/internal/testmessages/memory"
	"postage/pbfast/internal/testmessages/proto2"
	"postage/pbfast/internal/testmessages/proto3"
	"postage/pbfast/runtime"
)

func sample() *proto3.TestAllTypesProto3 {
	return &proto3.TestAllTypesProto3{
		OptionalString:        "größe",
		RepeatedNestedMessage: []*proto3.TestAllTypesProto3_NestedMessage{{A: 1}, nil, {A: -1}},
		MapStringString:       map[string]string{"b": "2", "a": "1", "c": ""},
		MapBoolBool:           map[bool]bool{true: false, false: true},
		OneofField:            &proto3.TestAllTypesProto3_OneofBytes{OneofBytes: []byte{0}},
		RecursiveMessage:      &proto3.TestAllTypesProto3{OptionalDouble: 1.5},
	}
}

// Everything else that Go programs do with messages still works with proto.Marshal and
// proto.Unmarshal replaced.
func TestTheRestOfProtobuf(t *testing.T) {
	m := sample()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := new(proto3.TestAllTypesProto3)
	if err := proto.Unmarshal(data, want); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(proto.Clone(want), want) {
		t.Error("a clone differs")
	}
	text, err := protojson.Marshal(want)
	got := new(proto3.TestAllTypesProto3)
	if err != nil || protojson.Unmarshal(text, got) != nil || !proto.Equal(got, want) {
		t.Errorf("JSON: %s, %v", text, err)
	}
	text, err = prototext.Marshal(want)
	got = new(proto3.TestAllTypesProto3)
	if err != nil || prototext.Unmarshal(text, got) != nil || !proto.Equal(got, want) {
		t.Errorf("text: %s, %v", text, err)
	}
	packed, err := anypb.New(want)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := packed.UnmarshalNew(); err != nil || !proto.Equal(back, want) {
		t.Errorf("Any: %v, %v", back, err)
	}
	dynamic := dynamicpb.NewMessage(want.ProtoReflect().Descriptor())
	if err := proto.Unmarshal(data, dynamic); err != nil || !proto.Equal(dynamic, want) {
		t.Errorf("dynamicpb: %v, %v", dynamic, err)
	}
	back, err := proto.Marshal(dynamic)
	got = new(proto3.TestAllTypesProto3)
	if err != nil || proto.Unmarshal(back, got) != nil || !proto.Equal(got, want) {
		t.Errorf("from dynamicpb: %v", err)
	}
	var nobody *proto3.TestAllTypesProto3
	if data, err := proto.Marshal(nobody); err != nil || data != nil || proto.Size(nobody) != 0 {
		t.Errorf("a nil message: %v, %v", data, err)
	}
	if data, err := nobody.MarshalAppend([]byte("x")); err != nil || string(data) != "x" || nobody.SizeOf() != 0 {
		t.Errorf("a nil message: %v, %v", data, err)
	}
}

// A message that can hold extensions is protobuf-go's, with what is in it. What holds it is not.
func TestExtensions(t *testing.T) {
	if err := pbfast.HookError(new(memory.Extended)); err == nil {
		t.Error("a message that can hold extensions is hooked")
	}
	whole := &memory.Extended{Name: proto.String("x")}
	proto.SetExtension(whole, memory.E_Extended_Needs, &memory.Needs{Name: proto.String("y")})
	lacking := new(memory.Extended)
	proto.SetExtension(lacking, memory.E_Extended_Needs, new(memory.Needs))
	for _, e := range []*memory.Extended{whole, lacking} {
		for _, m := range []*memory.Holder{
			{One: e, Name: proto.String("z")},
			{List: []*memory.Extended{e, nil, e}},
			{Map: map[string]*memory.Extended{"a": e}},
			{Choice: &memory.Holder_Chosen{Chosen: e}},
		} {
			data, err := theirBytes(m)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, m, nil, nil, data)
			got := new(memory.Holder)
			if err := proto.Unmarshal(data, got); (err == nil) != (e == whole) || err == nil && !proto.Equal(got, m) {
				t.Errorf("%v: %v, %v", m, got, err)
			}
		}
	}
}

// What reflection has of a message stays of use when the message is decoded, as it does with
// proto.Unmarshal.
func TestReflectionStays(t *testing.T) {
	for _, subject := range subjects {
		if proto.CheckInitialized(fresh(subject)) != nil {
			continue
		}
		for name, decode := range map[string]func(message, []byte) error{
			"Unmarshal":      message.Unmarshal,
			"UnmarshalAlias": message.UnmarshalAlias,
			"UnmarshalReuse": message.UnmarshalReuse,
		} {
			m := fresh(subject)
			r := m.ProtoReflect()
			r.SetUnknown([]byte("\x98\x75\x01"))
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%T.%s: what reflection had panics: %v", subject, name, p)
					}
				}()
				if err := decode(m, []byte("\x98\x75\x02")); err != nil {
					t.Errorf("%T.%s: %v", subject, name, err)
				}
				if r.Descriptor() == nil || string(r.GetUnknown()) != "\x98\x75\x02" {
					t.Errorf("%T.%s: reflection has %x", subject, name, r.GetUnknown())
				}
			}()
		}
	}
}

// A message may be encoded by several goroutines at once, with what is left to protobuf-go in it.
func TestConcurrentMarshal(t *testing.T) {
	m := &memory.Holder{Name: proto.String("a"), One: new(memory.Extended)}
	proto.SetExtension(m.One, memory.E_Extended_Needs, &memory.Needs{Name: proto.String("b")})
	for _, m := range []proto.Message{m, sample()} {
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Add(1)
			go func() {
				defer group.Done()
				for range 50 {
					got, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
					if err != nil || !bytes.Equal(got, want) || proto.Size(m) != len(want) {
						t.Errorf("%x, %v, want %x", got, err, want)
						return
					}
				}
			}()
		}
		group.Wait()
	}
}

// Text that is not UTF-8 is refused both ways where the schema asks for that, and by protobuf's own
// rules not in proto2.
func TestUTF8(t *testing.T) {
	const bad = "a\xffb"
	for _, m := range []message{
		&proto3.TestAllTypesProto3{OptionalString: bad},
		&proto3.TestAllTypesProto3{OptionalString: strings.Repeat("a", 40) + bad},
		&proto3.TestAllTypesProto3{RepeatedString: []string{bad}},
		&proto3.TestAllTypesProto3{MapStringString: map[string]string{bad: ""}},
		&proto3.TestAllTypesProto3{MapStringString: map[string]string{"": bad}},
		&proto3.TestAllTypesProto3{OneofField: &proto3.TestAllTypesProto3_OneofString{OneofString: bad}},
		&edition2023.TestAllTypesEdition2023{OptionalString: proto.String(bad)},
	} {
		if _, err := proto.Marshal(m); !errors.Is(err, proto.Error) {
			t.Errorf("%v: proto.Marshal: %v", m, err)
		}
		if got, err := m.MarshalAppend([]byte("kept")); !errors.Is(err, proto.Error) || string(got) != "kept" {
			t.Errorf("%v: MarshalAppend: %q, %v", m, got, err)
		}
	}
	m := &proto2.TestAllTypesProto2{OptionalString: proto.String(bad)}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(data, m); err != nil || m.OptionalString == nil || *m.OptionalString != bad {
		t.Errorf("proto2: %v, %v", m, err)
	}
	field := protowire.AppendString(protowire.AppendTag(nil, 14, protowire.BytesType), bad)
	if err := proto.Unmarshal(field, new(proto3.TestAllTypesProto3)); !errors.Is(err, proto.Error) {
		t.Errorf("decode: %v", err)
	}
}

// protobuf-go overlooks a required field in a oneof's message, unless that is the first member. It
// is the one thing that it accepts and pbfast does not, beside too deep nesting by extensions.
func TestRequiredInOneof(t *testing.T) {
	data := []byte("\x12\x00") // the second member, empty
	m := new(memory.Chooser).ProtoReflect()
	out, err := runtime.Original(m).Unmarshal(protoiface.UnmarshalInput{Message: m, Buf: data, Depth: 10})
	if err != nil || out.Flags&protoiface.UnmarshalInitialized == 0 {
		t.Logf("this protobuf-go refuses it, too, and docs/pbfast.md should not say otherwise: %v", err)
	}
	if err := proto.Unmarshal(data, new(memory.Chooser)); err == nil {
		t.Error("proto.Unmarshal accepts it")
	}
	if err := new(memory.Chooser).Unmarshal(data); err == nil {
		t.Error("Unmarshal accepts it")
	}
}

// A message that has grown since its size was computed is encoded, and not beyond the buffer.
func TestStaleSize(t *testing.T) {
	long := strings.Repeat("y", 50)
	for name, grow := range map[string]func(*proto3.TestAllTypesProto3){
		"text":           func(m *proto3.TestAllTypesProto3) { m.OptionalString = long },
		"nested text":    func(m *proto3.TestAllTypesProto3) { m.RecursiveMessage.OptionalString = long },
		"bytes":          func(m *proto3.TestAllTypesProto3) { m.OptionalBytes = []byte(long) },
		"unknown fields": func(m *proto3.TestAllTypesProto3) { m.ProtoReflect().SetUnknown([]byte("\x92\x75\x03abc")) },
	} {
		m := &proto3.TestAllTypesProto3{OptionalString: "x", RecursiveMessage: &proto3.TestAllTypesProto3{}}
		o := proto.MarshalOptions{UseCachedSize: true}
		n := o.Size(m)
		buf := make([]byte, 0, n+100)
		grow(m)
		data, err := o.MarshalAppend(buf[:0:n], m)
		if back := new(proto3.TestAllTypesProto3); err != nil || proto.Unmarshal(data, back) != nil || !proto.Equal(m, back) {
			t.Errorf("%s: encoded to %x, %v", name, data, err)
		}
		if !bytes.Equal(buf[n:n+100], make([]byte, 100)) {
			t.Errorf("%s: written beyond the buffer", name)
		}
	}
}

// What cannot be kept, because there is no message to hold it, is an error.
func TestMergeIntoNil(t *testing.T) {
	data := []byte("\n\x01a")
	if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(data, (*memory.Part)(nil)); !errors.Is(err, proto.Error) {
		t.Errorf("proto.Unmarshal: %v", err)
	}
	if err := (*memory.Part)(nil).UnmarshalVT(data); !errors.Is(err, proto.Error) {
		t.Errorf("UnmarshalVT: %v", err)
	}
}

// Memory is allocated for the message alone, not for a next one.
func TestMarshalAllocatesItsSize(t *testing.T) {
	m := &proto3.TestAllTypesProto3{OptionalString: "abcdef"}
	total, _ := allocated(func() {
		for range 100_000 { // many: what else in the process allocates is counted too
			if _, err := m.MarshalAppend(nil); err != nil {
				t.Fatal(err)
			}
		}
	})
	if total/100_000 > 16 {
		t.Errorf("%d bytes are allocated for a message of 8", total/100_000)
	}
}

// protobuf-go starts to count anew at an unknown group, within one that is known too.
func TestUnknownGroupsInAGroup(t *testing.T) {
	groups := func(levels int, number protowire.Number, inner []byte) []byte {
		data := append(bytes.Repeat(protowire.AppendTag(nil, number, protowire.StartGroupType), levels), inner...)
		return append(data, bytes.Repeat(protowire.AppendTag(nil, number, protowire.EndGroupType), levels)...)
	}
	for levels := 9_999; levels <= 10_002; levels++ {
		compare(t, new(proto2.TestAllTypesProto2), nil, nil, groups(1, 201, groups(levels, 900, nil)))
	}
	open := groups(1, 201, groups(2, 900, nil))
	for n := range open {
		compare(t, new(proto2.TestAllTypesProto2), nil, nil, open[:n])
		compare(t, new(proto2.TestAllTypesProto2), nil, nil, append(bytes.Clone(open[:n]), open[n+1:]...))
	}
}

// A group of another package's message is read to its end, and refused without one.
func TestForeignGroup(t *testing.T) {
	var d runtime.Decoder
	group := runtime.TypeOf[memory.Part]()
	data := protowire.AppendTag([]byte("\n\x01a"), 7, protowire.EndGroupType)
	if m, i := group.DecodeGroup(&d, data, 0, 10, 7, nil); i != len(data) || m.GetName() != "a" {
		t.Errorf("%v, ends at %d", m, i)
	}
	for _, bad := range [][]byte{data[:3], append([]byte("\n\x05a"), data[3:]...), protowire.AppendTag(nil, 8, protowire.EndGroupType)} {
		bad = append([]byte("before"), bad...)
		if _, i := group.DecodeGroup(&d, bad, len("before"), 10, 7, nil); d.Finish(nil, i) == nil {
			t.Errorf("%x: ends at %d", bad, i)
		}
	}
	if _, i := group.DecodeGroup(&d, data, 0, 0, 7, nil); d.Finish(nil, i) == nil {
		t.Errorf("too deep: ends at %d", i)
	}
}
