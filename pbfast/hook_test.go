package pbfast_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"postage/pbfast"
	"postage/pbfast/internal/testmessages/memory"
	"postage/pbfast/internal/testmessages/proto3"
	"postage/pbfast/runtime"
)

// A changed message is one of a protobuf-go that keeps its methods in another way.
type changed struct {
	protoreflect.Message
	table func() *protoiface.Methods
}

func (c changed) ProtoReflect() protoreflect.Message   { return c }
func (c changed) Interface() protoreflect.ProtoMessage { return c }
func (c changed) Type() protoreflect.MessageType       { return changedType{c.Message.Type(), c} }
func (c changed) ProtoMethods() *protoiface.Methods    { return c.table() }

type changedType struct {
	protoreflect.MessageType
	c changed
}

func (t changedType) New() protoreflect.Message { return t.c }

// A protobuf-go that does not use the messages' table is detected and left unchanged. Nothing is
// printed: who asks is told.
func TestHookFindsOutAnotherProtobuf(t *testing.T) {
	said := capture(t)
	real := wrapperspb.String("x").ProtoReflect()
	before := protoiface.Methods{
		Flags:     real.ProtoMethods().Flags,
		Size:      func(protoiface.SizeInput) (out protoiface.SizeOutput) { return out },
		Marshal:   func(protoiface.MarshalInput) (out protoiface.MarshalOutput, err error) { return out, nil },
		Unmarshal: func(protoiface.UnmarshalInput) (out protoiface.UnmarshalOutput, err error) { return out, nil },
	}
	other := before
	copies := 0
	for name, c := range map[string]struct {
		table func() *protoiface.Methods
		want  string
	}{
		"a table for each message": {func() *protoiface.Methods { own := before; return &own }, "two tables"},
		"a table that proto does not ask": {func() *protoiface.Methods {
			// Hook asks twice before it changes the table; proto, which asks next, gets another.
			if copies++; copies <= 2 {
				return &other
			}
			own := before
			return &own
		}, "does not use the table"},
		"a table without Size": {func() func() *protoiface.Methods {
			less := before
			less.Size = nil
			return func() *protoiface.Methods { return &less }
		}(), "lacks some"},
		"a flag that is new": {func() func() *protoiface.Methods {
			more := before
			more.Flags |= 1 << 20
			return func() *protoiface.Methods { return &more }
		}(), "flags"},
	} {
		err := runtime.HookMethods(changed{real, c.table}, &protoiface.Methods{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if told := pbfast.HookError(wrapperspb.String("x")); !errors.Is(told, err) {
			t.Errorf("%s: HookError gives %v, want %v", name, told, err)
		}
	}
	if text := said(); text != "" {
		t.Errorf("a library printed %q", text)
	}
	if other.Marshal == nil || other.Size == nil {
		t.Error("the table was not left as it was")
	}
	data, err := proto.Marshal(wrapperspb.String("x"))
	if err != nil || string(data) != "\n\x01x" {
		t.Errorf("proto.Marshal: %q, %v", data, err)
	}
}

// capture returns what is written to standard output and standard error from now on.
func capture(t *testing.T) (said func() string) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	t.Cleanup(func() {
		os.Stdout, os.Stderr = stdout, stderr
		file.Close()
	})
	return func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// A message is not hooked if half of its fields or more hold messages that protobuf-go codes.
func TestHookOnlyFaster(t *testing.T) {
	type part = typepb.EnumValue
	err := runtime.Hook(true, false, nil, func(*part) int { return 0 },
		func(_ *part, _ *runtime.Encoder, w []byte, i int, _ uint64) ([]byte, int) { return w, i },
		func(m *part, _ *runtime.Decoder, _ []byte, i, _ int) (*part, int) { return m, i },
		runtime.TypeOf[typepb.Option](), runtime.TypeOf[typepb.Option](), runtime.TypeOf[memory.Inner]())
	if told := pbfast.HookError(new(part)); err == nil || !errors.Is(told, err) || !strings.Contains(told.Error(), "2 of its 3 fields") {
		t.Errorf("%v, HookError gives %v", err, told)
	}
}

func TestHookOnce(t *testing.T) {
	if err := runtime.HookMethods(new(proto3.TestAllTypesProto3), &protoiface.Methods{}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("error %v, want one", err)
	}
	if err := pbfast.HookError(new(proto3.TestAllTypesProto3)); err != nil {
		t.Errorf("a hooked message: %v", err)
	}
	if err := pbfast.HookError(wrapperspb.Bool(true)); err == nil || !strings.Contains(err.Error(), "no code for google.protobuf.BoolValue") {
		t.Errorf("a message that nothing was generated for: %v", err)
	}
}
