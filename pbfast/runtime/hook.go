package runtime

import (
	"fmt"
	"os"
	"sync"

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

// Hook makes proto.Marshal, proto.Unmarshal and proto.Size of messages like m use the given
// methods. Generated code calls it from init functions.
//
// protobuf-go keeps one table of methods for a type, in its MessageInfo, and uses it for every
// operation, but does not promise to. So Hook first puts methods there that only note that they
// were called, asks proto for all three operations, and sets the given methods only if each was
// called. Otherwise the table is left unchanged, the reason goes to standard error once, and the
// error is returned.
func Hook(m proto.Message, fast *protoiface.Methods) error {
	err := hook(m, fast)
	if err != nil {
		complain.Do(func() {
			fmt.Fprintf(os.Stderr, "pbfast: proto.Marshal and proto.Unmarshal are not sped up: %v\nhint: this release of google.golang.org/protobuf is not supported; the methods on messages work still\n", err)
		})
	}
	return err
}

var complain sync.Once

func hook(m proto.Message, fast *protoiface.Methods) error {
	name := m.ProtoReflect().Descriptor().FullName()
	fresh := func() proto.Message { return m.ProtoReflect().Type().New().Interface() }
	table := m.ProtoReflect().ProtoMethods()
	if table == nil {
		return nil // built with the tag protoreflect: proto asks no methods
	}
	if other := fresh().ProtoReflect().ProtoMethods(); other != table {
		return fmt.Errorf("%s: two messages of the type have two tables of methods", name)
	}
	if table.Marshal == nil || table.Unmarshal == nil || table.Size == nil {
		return fmt.Errorf("%s: its table of methods lacks some", name)
	}
	if _, ok := originals.Load(table); ok {
		return fmt.Errorf("%s is already hooked", name)
	}
	const wantFlags = protoiface.SupportMarshalDeterministic | protoiface.SupportUnmarshalDiscardUnknown
	if table.Flags != wantFlags {
		return fmt.Errorf("%s: its table of methods has flags %#x, want %#x", name, table.Flags, wantFlags)
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
		return fmt.Errorf("%s: proto does not use the table of methods that messages have (%d Marshal, %d Unmarshal, %d Size, %v)", name, marshalled, unmarshalled, sized, err)
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
