package gen

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// What is allocated with the first optional part of a message is bounded, however many parts there
// can be: two bytes of input may ask for it.
func TestSlotsAreBounded(t *testing.T) {
	field := func(number int, kind descriptorpb.FieldDescriptorProto_Type, typeName *string) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: proto.String(fmt.Sprintf("f%d", number)), Number: proto.Int32(int32(number)), Type: kind.Enum(), TypeName: typeName,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	inner, outer := &descriptorpb.DescriptorProto{Name: proto.String("Inner")}, &descriptorpb.DescriptorProto{Name: proto.String("Outer")}
	for n := range 6 {
		inner.Field = append(inner.Field, field(1+n, descriptorpb.FieldDescriptorProto_TYPE_BYTES, nil))
	}
	for n := range 40 {
		outer.Field = append(outer.Field,
			field(1+2*n, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, proto.String(".x.Inner")),
			field(2+2*n, descriptorpb.FieldDescriptorProto_TYPE_INT64, nil))
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"x.proto"}, ProtoFile: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("x.proto"), Package: proto.String("x"), Syntax: proto.String("proto2"),
		Options:     &descriptorpb.FileOptions{GoPackage: proto.String("example.org/x")},
		MessageType: []*descriptorpb.DescriptorProto{inner, outer},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := newModel(plugin.Files, "example.org/x", nil, Options{})
	bytes := 0
	for _, f := range m.messages["x.Outer"].slots {
		bytes += 8
		if f.isMessage() {
			bytes += 40 + 6*24 - 8
		}
	}
	if bytes == 0 || bytes > maxSlotBytes {
		t.Errorf("the slots of Outer take %d bytes, want some and at most %d", bytes, maxSlotBytes)
	}
}
