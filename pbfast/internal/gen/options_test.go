package gen

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/pluginpb"

	"postage/pbfast/internal/testmessages/proto3"
)

// A message is left out by name, and a build tag is that of all files.
func TestSkipAndTag(t *testing.T) {
	o := Options{Tag: "fast && linux", Skip: []string{"protobuf_test_messages.proto3.TestAllTypesProto3"}}
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
	plugin := pluginFor(t, protodesc.ToFileDescriptorProto(structpb.File_google_protobuf_struct_proto),
		protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto), file)
	notes, err := Run(plugin, Options{})
	if err != nil || len(notes) != 2 || !strings.Contains(notes[0], "slower.p_a.Extended: can hold extensions: left to protobuf-go") ||
		!strings.Contains(notes[1], "slower.p_a.Settings: protobuf-go codes half of its fields or more: not hooked") {
		t.Errorf("notes %q, %v", notes, err)
	}
	code := plugin.Response().File[0].GetContent()
	if strings.Contains(code, "Extended") || !strings.Contains(code, "(*When).pbfastEncode") {
		t.Error("code is generated for the wrong message")
	}
}

// What is decoded lazily is left to protobuf-go, with a note, and so is the hybrid API; with the open
// API nothing is.
func TestLazy(t *testing.T) {
	for level, want := range map[gofeaturespb.GoFeatures_APILevel]string{
		gofeaturespb.GoFeatures_API_OPAQUE: "lazy.p_a.Outer: has fields that are decoded lazily: left to protobuf-go",
		gofeaturespb.GoFeatures_API_HYBRID: "lazy.p_a.Outer: has the hybrid API: left to protobuf-go\nlazy.p_a.Inner: has the hybrid API: left to protobuf-go",
		gofeaturespb.GoFeatures_API_OPEN:   "",
	} {
		inner := fieldOf("inner", 1, tMessage, ".lazy.p_a.Inner")
		inner.Options = &descriptorpb.FieldOptions{Lazy: proto.Bool(true)}
		file := newFile("lazy", "a", "editions", level, messageOf("Outer", inner), messageOf("Inner"))
		notes, err := Run(pluginFor(t, file), Options{})
		if err != nil || strings.Join(notes, "\n") != want {
			t.Errorf("%v: notes %q and %v, want %q", level, notes, err, want)
		}
	}
}

// What is allocated with the first optional part of a message is bounded, however many parts there
// can be: two bytes of input may ask for it.
func TestSlotsAreBounded(t *testing.T) {
	inner, outer := messageOf("Inner"), messageOf("Outer")
	for n := range 6 {
		inner.Field = append(inner.Field, fieldOf(fmt.Sprint("f", n), 1+n, descriptorpb.FieldDescriptorProto_TYPE_BYTES, ""))
	}
	for n := range 40 {
		outer.Field = append(outer.Field, fieldOf(fmt.Sprint("f", 2*n), 1+2*n, tMessage, ".slots.p_a.Inner"), fieldOf(fmt.Sprint("f", 1+2*n), 2+2*n, tInt32, ""))
	}
	plugin := pluginFor(t, newFile("slots", "a", "proto2", noAPI, inner, outer))
	m, _ := newModel(plugin.Files, plugin.Files[0].GoImportPath, Options{})
	bytes := 0
	for _, f := range m.messages["slots.p_a.Outer"].slots {
		bytes += 8
		if f.isMessage() {
			bytes += 40 + 6*24 - 8
		}
	}
	if bytes == 0 || bytes > maxSlotBytes {
		t.Errorf("the slots of Outer take %d bytes, want some and at most %d", bytes, maxSlotBytes)
	}
}

// pluginFor is asked for the code of the last file.
func pluginFor(t *testing.T, files ...*fileProto) *protogen.Plugin {
	t.Helper()
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{files[len(files)-1].GetName()}, ProtoFile: files})
	if err != nil {
		t.Fatal(err)
	}
	return plugin
}
