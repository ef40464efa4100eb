package bring

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
	"pgregory.net/rapid"
)

// load writes files into a folder and reads the first of them.
func load(t *testing.T, files ...string) (*Schema, error) {
	t.Helper()
	folder := t.TempDir()
	for i, text := range files {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.proto", i)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return Load(t.Context(), []string{filepath.Join(folder, "f0.proto")}, []string{folder})
}

// normalised returns the rewritten message M of some files, after checking that it agrees with the
// original on drawn samples.
func normalised(t *testing.T, files ...string) *Normal {
	t.Helper()
	s, err := load(t, files...)
	if err != nil {
		t.Fatal(err)
	}
	md, err := s.Message("M")
	if err != nil {
		t.Fatal(err)
	}
	n, err := Normalise(md)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drawSamples(1, md, n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Each construct is rewritten for generators, and keeps its wire format.
func TestNormalise(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		want  []string // parts of the rewritten file's text
	}{
		"nested types are hoisted": {
			[]string{`syntax = "proto3"; package a; message M { message Part { enum Kind { K = 0; } Kind kind = 1; } Part part = 1; }`},
			[]string{`name:"MPartType"`, `name:"MPartKindType"`, `type_name:".postage.brought.MPartType"`},
		},
		"types of one name in two packages": {
			[]string{`syntax = "proto3"; package a; import "f1.proto"; message M { X x = 1; b.X y = 2; } message X { int32 a = 1; }`, `syntax = "proto3"; package b; message X { string b = 1; }`},
			[]string{`name:"X"`, `name:"XV2"`},
		},
		"fields keep their names in JSON": {
			[]string{`syntax = "proto3"; message M { int32 Remaining_TTL = 1; string hostPID = 2; bytes x_1 = 3 [json_name = "@x"]; string String = 4; }`},
			[]string{`name:"remaining_ttl"`, `json_name:"RemainingTTL"`, `name:"host_pid"`, `json_name:"hostPID"`, `name:"x1"`, `json_name:"@x"`, `name:"string_v2"`, `json_name:"String"`},
		},
		"well-known types are messages as any other": {
			[]string{`syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/struct.proto"; message M { google.protobuf.Timestamp at = 1; google.protobuf.Value v = 2; }`},
			[]string{`name:"Timestamp"`, `name:"Value"`, `name:"StructV2"`, `name:"ListValue"`},
		},
		"all proto2 stays it": {
			[]string{`syntax = "proto2"; message M { required int32 a = 1; optional string b = 2 [default = "x"]; repeated int32 c = 3; repeated int32 d = 4 [packed = true]; }`},
			[]string{`syntax:"proto2"`, `packed:true`},
		},
		"editions become proto3": {
			[]string{`edition = "2023"; message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT]; repeated int32 c = 3 [features.repeated_field_encoding = EXPANDED]; }`},
			[]string{`syntax:"proto3"`, `packed:false`, `proto3_optional:true`},
		},
		"enum values of one name in two enums, and an alias": {
			[]string{`syntax = "proto3"; message M { enum A { UNKNOWN = 0; } message In { enum B { option allow_alias = true; UNKNOWN = 0; ONE = 1; EINS = 1; M = -2; } } A a = 1; In.B b = 2; map<string, In.B> c = 3; }`},
			[]string{`name:"UNKNOWN"`, `name:"MINB_UNKNOWN"`, `name:"MINB_M" number:-2`},
		},
		"a closed enum without zero": {
			[]string{`syntax = "proto3"; import "f1.proto"; message M { P p = 1; }`, `syntax = "proto2"; message P { optional E e = 1; } enum E { ONE = 1; }`},
			[]string{`name:"NONE_OF_E"`},
		},
		"recursion, and a oneof": {
			[]string{`syntax = "proto3"; message M { oneof kind { string text = 1; M m = 2; L list = 3; bytes raw = 4; } map<int64, M> by = 5; } message L { repeated M values = 1; }`},
			[]string{`oneof_decl:{name:"kind"}`},
		},
		"what is only for others needs not be there": {
			[]string{`syntax = "proto3"; import "gone.proto"; option (gone.x) = {a: 1}; message M { option (gone.m) = true; int32 a = 1 [(gone.f) = "x", deprecated = true]; reserved 7; extensions 100 to 200; } service S { rpc R(M) returns (gone.Type) { option (gone.http) = {}; } } extend M { optional int32 z = 100; }`},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(test.files[0], "extend M") { // only proto2 extends
				test.files[0] = strings.Replace(strings.Replace(test.files[0], "proto3", "proto2", 1), "int32 a", "optional int32 a", 1)
			}
			text := strings.ReplaceAll(fmt.Sprint(normalised(t, test.files...).File), ":  ", ":")
			text = strings.ReplaceAll(strings.ReplaceAll(text, "  ", " "), ": ", ":")
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
		})
	}
}

// protoc-gen-go makes the Go names that the rewritten message's names are chosen for: of
// everything that our own code names too.
func TestNamesAreProtocGenGos(t *testing.T) {
	n := normalised(t, `syntax = "proto3"; message M { string k8s_name = 1; bytes sha256sum = 2; string ipv4addr = 3; int32 a1b2_c3d = 4; K8sThing k8sThing = 5; oneof x509cert { int32 v1beta1 = 6; } map<string, E2e> s3buckets = 7; E3e e3e = 8; }
		message K8sThing { int32 a = 1; } message E2e { message In2it { int32 a = 1; } In2it in = 1; } enum E3e { A1b = 0; }`)
	n.File.Options = &descriptorpb.FileOptions{GoPackage: proto.String("example.org/x")}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{n.File.GetName()}, ProtoFile: []*descriptorpb.FileDescriptorProto{n.File}})
	if err != nil {
		t.Fatal(err)
	}
	same := func(its, name string) {
		if ours := pascal(name); ours != its {
			t.Errorf("%s: %s, protoc-gen-go: %s", name, ours, its)
		}
	}
	for _, m := range plugin.Files[0].Messages {
		same(m.GoIdent.GoName, string(m.Desc.Name()))
		if m.GoIdent.GoName != string(m.Desc.Name()) {
			t.Errorf("%s is %s in Go", m.Desc.Name(), m.GoIdent.GoName)
		}
		for _, f := range m.Fields {
			same(f.GoName, string(f.Desc.Name()))
		}
		for _, o := range m.Oneofs {
			if !o.Desc.IsSynthetic() {
				same(o.GoName, string(o.Desc.Name()))
			}
		}
	}
	for _, e := range plugin.Files[0].Enums {
		same(e.GoIdent.GoName, string(e.Desc.Name()))
	}
}

// Whatever a schema has, the rewritten message agrees with the original on everything that can be
// drawn.
func TestRandomSchemas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := randomFile(t)
		linked, err := protodesc.NewFile(file, nil)
		if err != nil {
			t.Skip("the draw is not a schema: ", err)
		}
		md := linked.Messages().Get(0)
		n, err := Normalise(md)
		if err != nil {
			t.Fatalf("%v\n%v", err, file)
		}
		if n.Message.Fields().Len() != md.Fields().Len() {
			t.Fatalf("%d fields became %d", md.Fields().Len(), n.Message.Fields().Len())
		}
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if other := n.Message.Fields().ByNumber(fd.Number()); other.Kind() != fd.Kind() || other.JSONName() != fd.JSONName() || other.IsPacked() != fd.IsPacked() || other.IsMap() != fd.IsMap() {
				t.Fatalf("%v became %v", fd, other)
			}
		}
		if _, err := drawSamples(rapid.Uint64().Draw(t, "seed"), md, n); err != nil {
			t.Fatalf("%v\n%v", err, file)
		}
	})
}

// randomFile draws a file of some messages and enums that refer to each other.
func randomFile(t *rapid.T) *descriptorpb.FileDescriptorProto {
	proto2 := rapid.Bool().Draw(t, "proto2")
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("random.proto"), Package: proto.String("r"), Syntax: proto.String("proto3")}
	if proto2 {
		file.Syntax = proto.String("proto2")
	}
	messages := rapid.IntRange(1, 4).Draw(t, "messages")
	name := rapid.SampledFrom([]string{"a", "b_c", "b__c", "_x", "Remaining_TTL", "hostPID", "x_1", "string", "reset", "get_a", "Size", "z9", "a_b", "k8s_a", "sha2x"})
	kinds := []protoreflect.Kind{protoreflect.BoolKind, protoreflect.EnumKind, protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.Int64Kind, protoreflect.Sint64Kind,
		protoreflect.Uint64Kind, protoreflect.Sfixed32Kind, protoreflect.Fixed32Kind, protoreflect.FloatKind, protoreflect.Sfixed64Kind, protoreflect.Fixed64Kind, protoreflect.DoubleKind,
		protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind}
	for m := range messages {
		message := &descriptorpb.DescriptorProto{Name: proto.String([]string{"M", "MA", "Span_Event", "Text"}[m])}
		used := map[string]bool{}
		for i := range rapid.IntRange(0, 6).Draw(t, "fields") {
			field := &descriptorpb.FieldDescriptorProto{Name: proto.String(name.Draw(t, "name")), Number: proto.Int32(int32(i + 1)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			if used[pascal(field.GetName())] { // protobuf refuses two fields with the same JSON name
				continue
			}
			used[pascal(field.GetName())] = true
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			field.Type = descriptorpb.FieldDescriptorProto_Type(kind).Enum()
			switch kind {
			case protoreflect.EnumKind:
				field.TypeName = proto.String(".r.E")
			case protoreflect.MessageKind:
				field.TypeName = proto.String(".r." + []string{"M", "MA", "Span_Event", "Text"}[rapid.IntRange(0, messages-1).Draw(t, "of")])
			}
			switch rapid.IntRange(0, 3).Draw(t, "shape") {
			case 0:
				field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
				if packable(kind) && rapid.Bool().Draw(t, "packed said") {
					field.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(rapid.Bool().Draw(t, "packed"))}
				}
			case 1:
				if len(message.OneofDecl) == 0 {
					message.OneofDecl = append(message.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("choice")})
				}
				field.OneofIndex = proto.Int32(0)
			}
			message.Field = append(message.Field, field)
		}
		file.MessageType = append(file.MessageType, message)
	}
	file.EnumType = []*descriptorpb.EnumDescriptorProto{{Name: proto.String("E"), Value: []*descriptorpb.EnumValueDescriptorProto{
		{Name: proto.String("M0"), Number: proto.Int32(0)}, {Name: proto.String("NEGATIVE"), Number: proto.Int32(-3)},
	}}}
	return file
}
