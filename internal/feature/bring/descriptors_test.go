package bring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A descriptor set, and an image of buf's, are the same schema as the .proto files. Files that only
// declare options may be missing.
func TestDescriptors(t *testing.T) {
	const text = `syntax = "proto3"; package a; import "google/protobuf/timestamp.proto"; import "f1.proto";
message M { google.protobuf.Timestamp at = 1; b.Part part = 2; optional int32 n = 3; map<string, b.Part> named = 4; oneof by { string x = 5; bytes y = 6; } }`
	const part = `edition = "2023"; package b; message Part { int32 n = 1; repeated int32 list = 2 [features.repeated_field_encoding = EXPANDED]; }`
	want := normalised(t, text, part)
	s, err := load(t, text, part)
	if err != nil {
		t.Fatal(err)
	}
	file := protodesc.ToFileDescriptorProto(s.files[0])
	file.Dependency = append(file.Dependency, "gogoproto/gogo.proto")
	file.Service = []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("S"), Method: []*descriptorpb.MethodDescriptorProto{
		{Name: proto.String("Do"), InputType: proto.String(".nowhere.X"), OutputType: proto.String(".a.M")},
	}}}
	set := new(descriptorpb.FileDescriptorSet)
	for i := range 2 {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(s.files[0].Imports().Get(i).FileDescriptor))
	}
	set.File = append(set.File, file)
	binary, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{write("image.binpb", binary), write("image.desc", binary)} {
		if !IsDescriptors(path) {
			t.Errorf("%s: not taken for a descriptor set", path)
		}
		s, err := LoadDescriptors(path)
		if err != nil {
			t.Fatal(err)
		}
		md, err := s.Message("M")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Normalise(md)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got.File, want.File) {
			t.Errorf("%s: %v, want %v", path, got.File, want.File)
		}
		if len(s.Missing) != 1 || s.Missing[0] != "gogoproto/gogo.proto" {
			t.Errorf("%s: missing are %v", path, s.Missing)
		}
	}

	set.File = set.File[2:]
	if binary, err = proto.Marshal(set); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		write("alone.binpb", binary):        "imported, and not in the set: google/protobuf/timestamp.proto, f1.proto, gogoproto/gogo.proto: make the set with protoc's --include_imports",
		write("text.binpb", []byte("text")): "text.binpb: not a descriptor set: ",
	} {
		if _, err := LoadDescriptors(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
