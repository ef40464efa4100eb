package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// words are the names that random schemas use for packages, messages, fields, oneofs and enums:
// those that generated code uses, of Go, of protobuf-go, and of vtprotobuf.
var words = strings.Fields(`
break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var
any append bool byte cap clear close comparable complex copy delete error false float64 imag int int32 iota len make max min new nil panic print
real recover rune string true uint64 uintptr
b d data depth e end err i in j k key keys l last m n need o of ok out p s size slab tag v value w x y
size_of marshal_append unmarshal unmarshal_alias unmarshal_reuse pbfast_size pbfast_encode size_vt marshal_vt clone_vt equal_vt
reset string proto_message descriptor marshal get_name name has_name set_name clear_name which_name size_cache unknown_fields
state extension_fields entry parts node encoder decoder runtime proto protoiface protoimpl math slices validutf8 pbfast unsafe sync
Entry Parts Node old oldName Put PutName EntryName name_entry foo_bar foo__bar FooBar _x x_ x1 x_1 a1b UPPER camelCase`)

// support are files that schemas import.
func support() []*fileProto {
	return []*fileProto{
		protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto),
		protodesc.ToFileDescriptorProto(gofeaturespb.File_google_protobuf_go_features_proto),
		protodesc.ToFileDescriptorProto(durationpb.File_google_protobuf_duration_proto),
	}
}

// A maker draws one schema.
type maker struct {
	*rand.Rand
	schema   string
	messages []string // full names of messages that may be used, of those before in another file
	enums    []string
}

// randomSchema is one to three files, each in a Go package of its own, that import those before.
func randomSchema(seed uint64) []*fileProto {
	g := &maker{Rand: rand.New(rand.NewPCG(seed, 30)), schema: fmt.Sprint("s", seed)}
	var files []*fileProto
	used := map[string]bool{}
	for range 1 + g.IntN(3) {
		name := strings.ToLower(words[g.IntN(len(words))])
		if used[name] || name == "init" || strings.HasPrefix(name, "_") {
			continue
		}
		used[name] = true
		files = append(files, g.file(name, files))
	}
	if len(files) == 0 {
		return randomSchema(seed + 1<<32)
	}
	return files
}

func (g *maker) file(name string, before []*fileProto) *fileProto {
	syntax := []string{"proto2", "proto3", "editions", "editions"}[g.IntN(4)]
	api := []gofeaturespb.GoFeatures_APILevel{gofeaturespb.GoFeatures_API_OPEN, gofeaturespb.GoFeatures_API_HYBRID, gofeaturespb.GoFeatures_API_OPAQUE}[g.IntN(3)]
	f := newFile(g.schema, name, syntax, api)
	for _, other := range before {
		f.Dependency = append(f.Dependency, other.GetName())
	}
	f.Dependency = append(f.Dependency, "google/protobuf/duration.proto")
	pkg := "." + f.GetPackage()
	enumsBefore := g.enums
	if syntax == "proto3" { // may use no closed enum
		g.enums = nil
	}
	names := g.unique(2+g.IntN(5), true)
	zero := descriptorpb.EnumValueDescriptorProto{Name: proto.String("E_" + strings.ToUpper(name) + "_ZERO"), Number: proto.Int32(0)}
	f.EnumType = []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Kind"), Value: []*descriptorpb.EnumValueDescriptorProto{
		&zero, {Name: proto.String("E_" + strings.ToUpper(name) + "_ONE"), Number: proto.Int32(1)},
	}}}
	g.enums = append(g.enums, pkg+".Kind")
	mine := []string{".google.protobuf.Duration"}
	for _, name := range names {
		mine = append(mine, pkg+"."+name)
	}
	g.messages = append(g.messages, mine...)
	for _, name := range names {
		f.MessageType = append(f.MessageType, g.message(syntax, pkg, name))
	}
	g.enums = append(enumsBefore, pkg+".Kind")
	return f
}

// unique draws names that are different even as Go has them.
func (g *maker) unique(n int, types bool) []string {
	var out []string
	seen := map[string]bool{"kind": true}
	for range n {
		name := words[g.IntN(len(words))]
		if types {
			name = strings.ReplaceAll(strings.Trim(name, "_"), "_", "")
			name = strings.ToUpper(name[:1]) + name[1:]
		}
		if same := strings.ToLower(strings.ReplaceAll(name, "_", "")); !seen[same] {
			seen[same] = true
			out = append(out, name)
		}
	}
	return out
}

func (g *maker) message(syntax, pkg, name string) *messageProto {
	m := messageOf(name)
	names := g.unique(1+g.IntN(14), false)
	number := 0
	if g.IntN(3) == 0 {
		m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String(names[0])}}
		names = append(names[1:], "choice_a", "choice_b")
	}
	for k, name := range names {
		number += 1 + g.IntN(3)*g.IntN(12)
		if g.IntN(20) == 0 {
			number += 3000
		}
		chosen := len(m.OneofDecl) > 0 && (k >= len(names)-2 || g.IntN(3) == 0)
		if !chosen && g.IntN(6) == 0 {
			addMap(m, pkg, name, number, g.keyKind(), g.valueKind(), "")
			value := m.NestedType[len(m.NestedType)-1].Field[1]
			if g.IntN(2) == 0 {
				value.Type, value.TypeName = tMessage.Enum(), proto.String(g.messages[g.IntN(len(g.messages))])
			}
			continue
		}
		f := g.field(name, number)
		switch {
		case chosen:
			f.OneofIndex = proto.Int32(0)
		case g.IntN(3) == 0:
			f.Label = repeated.Enum()
			if packable := f.GetType() != tString && f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_BYTES && f.GetType() != tMessage; packable && syntax != "editions" && g.IntN(2) == 0 {
				f.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(g.IntN(2) == 0)}
			}
		case syntax == "proto2" && g.IntN(12) == 0 && f.GetType() != tMessage:
			f.Label = required.Enum()
		case syntax == "proto2" && g.IntN(12) == 0:
			g.group(m, pkg, f)
		case syntax == "editions" && g.IntN(4) == 0 && f.GetType() != tMessage:
			f.Options = &descriptorpb.FieldOptions{Features: &descriptorpb.FeatureSet{FieldPresence: descriptorpb.FeatureSet_IMPLICIT.Enum()}}
		case syntax == "editions" && f.GetType() == tMessage && g.IntN(6) == 0:
			f.Options = &descriptorpb.FieldOptions{Features: &descriptorpb.FeatureSet{MessageEncoding: descriptorpb.FeatureSet_DELIMITED.Enum()}}
		}
		m.Field = append(m.Field, f)
	}
	if syntax == "proto3" { // optional fields are in oneofs of their own, after the others
		for _, f := range m.Field {
			if f.OneofIndex == nil && f.GetLabel() == optional && f.GetType() != tMessage && g.IntN(3) == 0 {
				f.Proto3Optional, f.OneofIndex = proto.Bool(true), proto.Int32(int32(len(m.OneofDecl)))
				m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + f.GetName())})
			}
		}
	} else if g.IntN(5) == 0 {
		m.ExtensionRange = []*descriptorpb.DescriptorProto_ExtensionRange{{Start: proto.Int32(100_000), End: proto.Int32(200_000)}}
	}
	return byOneof(m)
}

// group makes a field a group.
func (g *maker) group(m *messageProto, pkg string, f *fieldProto) {
	name := fmt.Sprint("Grp", f.GetNumber())
	f.Name, f.Type, f.TypeName = proto.String(strings.ToLower(name)), tGroup.Enum(), proto.String(pkg+"."+m.GetName()+"."+name)
	m.NestedType = append(m.NestedType, messageOf(name, g.field("inside", 1)))
}

func (g *maker) field(name string, number int) *fieldProto {
	if g.IntN(4) == 0 {
		return fieldOf(name, number, tMessage, g.messages[g.IntN(len(g.messages))])
	}
	if g.IntN(10) == 0 && len(g.enums) > 0 {
		return fieldOf(name, number, tEnum, g.enums[len(g.enums)-1])
	}
	return fieldOf(name, number, g.valueKind(), "")
}

// valueKind is one of a number, text or bytes.
func (g *maker) valueKind() descriptorpb.FieldDescriptorProto_Type {
	for {
		switch kind := descriptorpb.FieldDescriptorProto_Type(1 + g.IntN(18)); kind {
		case tMessage, tGroup, tEnum:
		default:
			return kind
		}
	}
}

func (g *maker) keyKind() descriptorpb.FieldDescriptorProto_Type {
	for {
		switch kind := g.valueKind(); kind {
		case descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_FLOAT, descriptorpb.FieldDescriptorProto_TYPE_BYTES:
		default:
			return kind
		}
	}
}
