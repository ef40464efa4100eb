package pbfast_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"
	"google.golang.org/protobuf/types/pluginpb"

	"postage/pbfast/internal/testmessages/edition2023"
	"postage/pbfast/internal/testmessages/proto2editions"
	"postage/pbfast/internal/testmessages/proto3editions"
	"postage/pbfast/runtime"
)

// opaqueFiles are the conformance suite's messages of editions. Their code with the opaque API is longer
// than all else that tests use, so it is not committed.
var opaqueFiles = map[string]protoreflect.FileDescriptor{
	"edition2023opaque": edition2023.File_test_messages_edition2023_proto,
	"proto2opaque":      proto2editions.File_test_messages_proto2_editions_proto,
	"proto3opaque":      proto3editions.File_test_messages_proto3_editions_proto,
}

// opaqueOverlay runs both plug-ins and returns the go command's flag that adds the packages of messages
// with the opaque API, and testdata/opaque_test.go.txt to these tests.
func opaqueOverlay(t testing.TB) string {
	t.Helper()
	module, err := filepath.Abs(".")
	if err == nil {
		_, err = os.ReadDir("internal/gen") // so that go test runs tests again when the generator changes
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, modulePath := t.TempDir(), path.Dir(reflect.TypeFor[runtime.Encoder]().PkgPath())
	replace := map[string]string{filepath.Join(module, "opaque_test.go"): filepath.Join(module, "testdata", "opaque_test.go.txt")}
	for name, file := range opaqueFiles {
		request := &pluginpb.CodeGeneratorRequest{ProtoFile: append(dependencies(file), withOpaqueAPI(t, file))}
		last := request.ProtoFile[len(request.ProtoFile)-1]
		last.Options.GoPackage = proto.String(modulePath + "/internal/testmessages/" + name)
		request.FileToGenerate = []string{last.GetName()}
		for _, plugin := range []string{"google.golang.org/protobuf/cmd/protoc-gen-go", "./cmd/protoc-gen-pbfast"} {
			if strings.HasPrefix(plugin, "./") {
				request.Parameter = proto.String("methods=pbfast,methods=reuse,methods=vt")
			}
			for _, made := range runPlugin(t, plugin, request) {
				base := path.Base(made.GetName())
				to := filepath.Join(dir, name+"_"+base)
				if err := os.WriteFile(to, []byte(made.GetContent()), 0o666); err != nil {
					t.Fatal(err)
				}
				replace[filepath.Join(module, "internal", "testmessages", name, base)] = to
			}
		}
	}
	overlay := filepath.Join(dir, "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "-overlay=" + overlay
}

// runPlugin returns what a plug-in makes. Some of the messages use MessageSets, which plug-ins refuse
// unless they are built for them.
func runPlugin(t testing.TB, plugin string, request *pluginpb.CodeGeneratorRequest) []*pluginpb.CodeGeneratorResponse_File {
	t.Helper()
	data, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-tags=protolegacy", plugin)
	cmd.Stdin = bytes.NewReader(data)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	answer, err := cmd.Output()
	response := new(pluginpb.CodeGeneratorResponse)
	if err == nil {
		err = proto.Unmarshal(answer, response)
	}
	if err != nil || response.Error != nil {
		t.Fatalf("%s: %v %s\n%s", plugin, err, response.GetError(), complaint.String())
	}
	return response.File
}

// withOpaqueAPI returns a copy of a file that uses the opaque API, with names of its own.
func withOpaqueAPI(t testing.TB, file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	t.Helper()
	text, err := prototext.Marshal(protodesc.ToFileDescriptorProto(file))
	if err != nil {
		t.Fatal(err)
	}
	out := new(descriptorpb.FileDescriptorProto)
	renamed := strings.ReplaceAll(string(text), "protobuf_test_messages.editions", "protobuf_test_messages.opaque")
	if err := prototext.Unmarshal([]byte(renamed), out); err != nil {
		t.Fatal(err)
	}
	out.Name = proto.String(strings.TrimSuffix(out.GetName(), ".proto") + "_opaque.proto")
	if out.Options.Features == nil {
		out.Options.Features = new(descriptorpb.FeatureSet)
	}
	proto.SetExtension(out.Options.Features, gofeaturespb.E_Go, &gofeaturespb.GoFeatures{ApiLevel: gofeaturespb.GoFeatures_API_OPAQUE.Enum()})
	return out
}

// dependencies returns the files that a file imports; none of them imports another.
func dependencies(file protoreflect.FileDescriptor) []*descriptorpb.FileDescriptorProto {
	var out []*descriptorpb.FileDescriptorProto
	for i := range file.Imports().Len() {
		out = append(out, protodesc.ToFileDescriptorProto(file.Imports().Get(i).FileDescriptor))
	}
	return out
}
