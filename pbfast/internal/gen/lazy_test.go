package gen

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"
	"google.golang.org/protobuf/types/pluginpb"
)

// What is decoded lazily is left to protobuf-go, with a note; with the open API nothing is.
func TestLazy(t *testing.T) {
	for level, want := range map[gofeaturespb.GoFeatures_APILevel]string{
		gofeaturespb.GoFeatures_API_OPAQUE: "x.Outer: has fields that are decoded lazily: left to protobuf-go",
		gofeaturespb.GoFeatures_API_OPEN:   "",
	} {
		features := new(descriptorpb.FeatureSet)
		proto.SetExtension(features, gofeaturespb.E_Go, &gofeaturespb.GoFeatures{ApiLevel: level.Enum()})
		field := &descriptorpb.FieldDescriptorProto{
			Name: proto.String("inner"), Number: proto.Int32(1), TypeName: proto.String(".x.Inner"),
			Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Options: &descriptorpb.FieldOptions{Lazy: proto.Bool(true)},
		}
		file := &descriptorpb.FileDescriptorProto{
			Name: proto.String("x.proto"), Package: proto.String("x"), Syntax: proto.String("editions"),
			Edition: descriptorpb.Edition_EDITION_2023.Enum(),
			Options: &descriptorpb.FileOptions{GoPackage: proto.String("example.org/x"), Features: features},
			MessageType: []*descriptorpb.DescriptorProto{
				{Name: proto.String("Outer"), Field: []*descriptorpb.FieldDescriptorProto{field}},
				{Name: proto.String("Inner")},
			},
		}
		plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"x.proto"}, ProtoFile: []*descriptorpb.FileDescriptorProto{file}})
		if err != nil {
			t.Fatal(err)
		}
		notes, err := Run(plugin, Options{})
		if err != nil || strings.Join(notes, "\n") != want {
			t.Errorf("%v: notes %q and %v, want %q", level, notes, err, want)
		}
	}
}
