package gen

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/pluginpb"

	"postage/pbfast/internal/testmessages/proto3"
)

// A message is left out by name, and a build tag is that of all files.
func TestSkipAndTag(t *testing.T) {
	o := Options{Hook: true, Tag: "fast && linux", Skip: []string{"protobuf_test_messages.proto3.TestAllTypesProto3"}}
	code := generate(t, proto3.File_test_messages_proto3_proto, o)
	if strings.Contains(code, "func (m *TestAllTypesProto3) ") || !strings.Contains(code, "func (m *TestAllTypesProto3_NestedMessage) ") {
		t.Error("skip leaves out something else")
	}
	if !strings.Contains(code, "\n//go:build fast && linux\n\npackage") {
		t.Error("there is no build tag")
	}
	if exported := regexp.MustCompile(`(?m)^func \(.*\) [A-Z]\w*\(`).FindString(code); exported != "" {
		t.Errorf("a method is exported: %s", exported)
	}
}

// A message that would not be faster is not hooked, and the plug-in says so.
func TestSlowerIsNotHooked(t *testing.T) {
	file := newFile("slower", "a", "proto2", noAPI,
		messageOf("Settings", fieldOf("s", 1, tMessage, ".google.protobuf.Struct"), fieldOf("id", 2, tString, "")),
		messageOf("When", fieldOf("at", 1, tMessage, ".google.protobuf.Timestamp")),
		messageOf("Extended", fieldOf("name", 1, tString, "")))
	file.MessageType[2].ExtensionRange = []*descriptorpb.DescriptorProto_ExtensionRange{{Start: proto.Int32(100), End: proto.Int32(200)}}
	file.Dependency = []string{structpb.File_google_protobuf_struct_proto.Path(), timestamppb.File_google_protobuf_timestamp_proto.Path()}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file.GetName()},
		ProtoFile: []*fileProto{
			protodesc.ToFileDescriptorProto(structpb.File_google_protobuf_struct_proto),
			protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto), file,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	notes, err := Run(plugin, Options{Hook: true})
	if err != nil || len(notes) != 2 || !strings.Contains(notes[0], "slower.p_a.Extended: can hold extensions: left to protobuf-go") ||
		!strings.Contains(notes[1], "slower.p_a.Settings: protobuf-go codes half of its fields or more: not hooked") {
		t.Errorf("notes %q, %v", notes, err)
	}
	code := plugin.Response().File[0].GetContent()
	if strings.Contains(code, "Extended") || !strings.Contains(code, "(*When).pbfastEncode") {
		t.Error("code is generated for the wrong message")
	}
}
