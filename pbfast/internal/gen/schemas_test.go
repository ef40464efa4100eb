package gen

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"
	"google.golang.org/protobuf/types/pluginpb"
)

type (
	fileProto    = descriptorpb.FileDescriptorProto
	messageProto = descriptorpb.DescriptorProto
	fieldProto   = descriptorpb.FieldDescriptorProto
)

const (
	tString   = descriptorpb.FieldDescriptorProto_TYPE_STRING
	tInt32    = descriptorpb.FieldDescriptorProto_TYPE_INT32
	tMessage  = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	tEnum     = descriptorpb.FieldDescriptorProto_TYPE_ENUM
	tGroup    = descriptorpb.FieldDescriptorProto_TYPE_GROUP
	optional  = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	required  = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED
	repeated  = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	noOneof   = -1
	noAPI     = gofeaturespb.GoFeatures_API_LEVEL_UNSPECIFIED
	underTest = "postage/pbfast/schemas/"
)

// newFile is a file of a schema, in a Go package of that name.
func newFile(schema, pkg, syntax string, api gofeaturespb.GoFeatures_APILevel, messages ...*messageProto) *fileProto {
	f := &fileProto{
		Name: proto.String("schemas/" + schema + "/" + pkg + ".proto"), Package: proto.String(schema + ".p_" + pkg),
		Options:     &descriptorpb.FileOptions{GoPackage: proto.String(underTest + schema + "/" + pkg + ";" + goName(pkg))},
		MessageType: messages,
	}
	if syntax == "editions" {
		f.Syntax, f.Edition = proto.String("editions"), descriptorpb.Edition_EDITION_2023.Enum()
		f.Options.Features = new(descriptorpb.FeatureSet)
		proto.SetExtension(f.Options.Features, gofeaturespb.E_Go, &gofeaturespb.GoFeatures{ApiLevel: api.Enum()})
	} else {
		f.Syntax = proto.String(syntax)
	}
	return f
}

// goName is a name that a package can have; others import it by the last part of its path.
func goName(pkg string) string { return "p" + strings.ReplaceAll(pkg, "-", "_") }

func messageOf(name string, fields ...*fieldProto) *messageProto {
	return &messageProto{Name: proto.String(name), Field: fields}
}

func fieldOf(name string, number int, kind descriptorpb.FieldDescriptorProto_Type, typeName string) *fieldProto {
	f := &fieldProto{Name: proto.String(name), Number: proto.Int32(int32(number)), Type: kind.Enum(), Label: optional.Enum()}
	if typeName != "" {
		f.TypeName = proto.String(typeName)
	}
	return f
}

func inOneof(f *fieldProto, index int) *fieldProto {
	f.OneofIndex = proto.Int32(int32(index))
	return f
}

// byOneof puts the fields of each oneof next to each other, as protobuf wants them.
func byOneof(m *messageProto) *messageProto {
	slices.SortStableFunc(m.Field, func(a, b *fieldProto) int {
		index := func(f *fieldProto) int32 {
			if f.OneofIndex == nil {
				return -1
			}
			return f.GetOneofIndex()
		}
		return int(index(a) - index(b))
	})
	return m
}

// addMap adds a map from strings to a message.
func addMap(m *messageProto, parent, name string, number int, key, value descriptorpb.FieldDescriptorProto_Type, valueType string) {
	entry := ""
	for _, word := range strings.Split(name, "_") {
		if word != "" {
			entry += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	entry += "Entry"
	nested := messageOf(entry, fieldOf("key", 1, key, ""), fieldOf("value", 2, value, valueType))
	nested.Options = &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}
	m.NestedType = append(m.NestedType, nested)
	f := fieldOf(name, number, tMessage, parent+"."+m.GetName()+"."+entry)
	f.Label = repeated.Enum()
	m.Field = append(m.Field, f)
}

// broken are schemas that the generator made no working code for once.
func broken() [][]*fileProto {
	var out [][]*fileProto

	// Go packages with the name of something in the generated code.
	names := []string{"b", "d", "depth", "e", "end", "err", "i", "in", "key", "m", "n", "ok", "p", "size", "tag", "v", "w", "im0b", "oldf", "pbfastx", "file_x_init", "runtime", "proto", "math", "slices", "validutf8", "string", "len", "func", "7up", "Upper"}
	user := messageOf("User")
	addition := []*fileProto{}
	for k, name := range names {
		part := messageOf("Part", fieldOf("name", 1, tString, ""))
		pkg := newFile("imports", strings.NewReplacer("7", "x").Replace(name), "proto3", noAPI, part)
		full := "." + pkg.GetPackage() + ".Part"
		addition = append(addition, pkg)
		one, list := fieldOf(fmt.Sprint("f", 10*k), 10*k+1, tMessage, full), fieldOf(fmt.Sprint("l", 10*k), 10*k+2, tMessage, full)
		list.Label = repeated.Enum()
		user.Field = append(user.Field, one, list)
		addMap(user, ".imports.p_user", fmt.Sprint("m", 10*k), 10*k+3, tString, tMessage, full)
		user.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}}
		user.Field = append(user.Field, inOneof(fieldOf(fmt.Sprint("c", 10*k), 10*k+4, tMessage, full), 0))
	}
	using := newFile("imports", "user", "proto3", noAPI, byOneof(user))
	for _, file := range addition {
		using.Dependency = append(using.Dependency, file.GetName())
	}
	out = append(out, append(addition, using))

	// Two maps whose functions would have one name.
	request, metadata := messageOf("Request"), messageOf("RequestMetadata")
	addMap(request, ".maps.p_a", "metadata_tags", 1, tString, tString, "")
	addMap(metadata, ".maps.p_a", "tags", 1, tString, tString, "")
	out = append(out, []*fileProto{newFile("maps", "a", "proto3", noAPI, request, metadata)})

	// Fields and oneofs with the names of generated methods, within a package where others are not.
	method := func(name string, field func(*messageProto)) *messageProto {
		m := messageOf(name, fieldOf("other", 1, tString, ""))
		field(m)
		return m
	}
	var methods []*messageProto
	for k, name := range []string{"size_of", "marshal_append", "unmarshal_alias", "unmarshal", "clone_vt", "equal_message_vt", "pbfast_size", "CloneVT", "SizeVT"} {
		methods = append(methods,
			method(fmt.Sprint("F", k), func(m *messageProto) { m.Field = append(m.Field, fieldOf(name, 2, tInt32, "")) }),
			method(fmt.Sprint("O", k), func(m *messageProto) {
				m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String(name)}}
				m.Field = append(m.Field, inOneof(fieldOf("x", 2, tInt32, ""), 0))
			}),
			method(fmt.Sprint("I", k), func(m *messageProto) {
				m.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}}
				m.Field = append(m.Field, inOneof(fieldOf(name, 2, tInt32, ""), 0))
			}))
	}
	all := messageOf("All")
	for k, m := range methods {
		all.Field = append(all.Field, fieldOf(fmt.Sprint("f", k), k+1, tMessage, ".methods.p_a."+m.GetName()))
	}
	out = append(out, []*fileProto{newFile("methods", "a", "proto3", noAPI, append(methods, all)...)})

	// The hybrid API, beside a file with the open one in the same Go package.
	hybrid := newFile("hybrid", "a", "editions", gofeaturespb.GoFeatures_API_HYBRID, messageOf("Hybrid",
		fieldOf("name", 1, tString, ""), fieldOf("number", 2, tInt32, ""), fieldOf("self", 3, tMessage, ".hybrid.p_a.Hybrid")),
		messageOf("Small", fieldOf("number", 1, tInt32, "")))
	addMap(hybrid.MessageType[0], ".hybrid.p_a", "by_name", 4, tString, tMessage, ".hybrid.p_a.Hybrid")
	open := newFile("hybrid", "b", "editions", gofeaturespb.GoFeatures_API_OPEN, messageOf("Open",
		fieldOf("hybrid", 1, tMessage, ".hybrid.p_a.Hybrid"), fieldOf("small", 2, tMessage, ".hybrid.p_a.Small")))
	list := fieldOf("list", 3, tMessage, ".hybrid.p_a.Small")
	list.Label = repeated.Enum()
	open.MessageType[0].Field = append(open.MessageType[0].Field, list)
	open.Options.GoPackage = hybrid.Options.GoPackage
	open.Dependency = []string{hybrid.GetName()}
	out = append(out, []*fileProto{hybrid, open})

	// Fields that are decoded lazily, in messages left to protobuf-go within one that is not.
	lazily := func(f *fieldProto) *fieldProto {
		f.Options = &descriptorpb.FieldOptions{Lazy: proto.Bool(true)}
		return f
	}
	out = append(out, []*fileProto{newFile("lazy", "a", "editions", gofeaturespb.GoFeatures_API_OPAQUE,
		messageOf("Leaf", fieldOf("number", 1, tInt32, "")),
		messageOf("Inner", lazily(fieldOf("leaf", 1, tMessage, ".lazy.p_a.Leaf"))),
		messageOf("Outer", fieldOf("inner", 1, tMessage, ".lazy.p_a.Inner"), lazily(fieldOf("leaf", 2, tMessage, ".lazy.p_a.Leaf"))),
		messageOf("Root", fieldOf("outer", 1, tMessage, ".lazy.p_a.Outer"), fieldOf("name", 2, tString, ""), fieldOf("other", 3, tString, "")))})

	// Fields of messages that gogo/protobuf has made.
	const full = ".gogo.p_legacy.Legacy"
	holder := messageOf("Holder", fieldOf("one", 1, tMessage, full), fieldOf("many", 2, tMessage, full))
	holder.Field[1].Label = repeated.Enum()
	addMap(holder, ".gogo.p_holder", "by_name", 3, tString, tMessage, full)
	holder.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}}
	holder.Field = append(holder.Field, inOneof(fieldOf("chosen", 4, tMessage, full), 0))
	holding := newFile("gogo", "holder", "proto3", noAPI, byOneof(holder))
	legacy := newFile("gogo", "legacy", "proto3", noAPI, messageOf("Legacy", fieldOf("name", 1, tString, ""), fieldOf("number", 2, tInt32, "")))
	holding.Dependency = []string{legacy.GetName()}
	out = append(out, []*fileProto{legacy, holding})

	// A message that has methods already, which others have generated.
	out = append(out, []*fileProto{newFile("beside", "a", "proto3", noAPI, messageOf("Beside", fieldOf("name", 1, tString, "")))})

	// Messages with two fields each of the next: 2^40 ways through them.
	var deep []*messageProto
	for k := range 40 {
		m := messageOf(fmt.Sprint("M", k), fieldOf("name", 3, tString, ""))
		if k < 39 {
			next := fmt.Sprint(".deep.p_a.M", k+1)
			m.Field = append(m.Field, fieldOf("a", 1, tMessage, next), fieldOf("b", 2, tMessage, next))
		}
		deep = append(deep, m)
	}
	return append(out, []*fileProto{newFile("deep", "a", "proto3", noAPI, deep...)})
}

// Schemas that once broke, and random ones, are generated for, compile, and agree with protobuf-go.
// POSTAGE_SEED begins with another one than the first.
func TestSchemas(t *testing.T) {
	count, rounds := 10, 2
	switch os.Getenv("POSTAGE_LONG") {
	case "":
	case "hours":
		count, rounds = 200, 10
	default:
		count, rounds = 60, 10
	}
	seed := 0
	if s := os.Getenv("POSTAGE_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	schemas := broken()
	for k := range count {
		schemas = append(schemas, randomSchema(uint64(seed+k)))
	}
	buildSchemas(t, schemas, rounds)
}

// buildSchemas generates code into a module of its own and runs its test.
func buildSchemas(t *testing.T, schemas [][]*fileProto, rounds int) {
	dir := t.TempDir()
	self, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	module := path.Dir(string(packages["runtime"]))
	put := func(name, text string) { put(t, filepath.Join(dir, name), text) }
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	mod := read(filepath.Join(self, "go.mod"))
	mod = strings.Replace(mod, "module "+module, "module "+module+"/schemas", 1)
	put("go.mod", mod+fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => %s\n", module, module, self))
	useWorkspaceProtobuf(t, dir)

	program := filepath.Join(t.TempDir(), "protoc-gen-go")
	if out, err := exec.Command("go", "build", "-o", program, "google.golang.org/protobuf/cmd/protoc-gen-go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	imports := map[string]bool{}
	messages := 0
	for _, files := range schemas {
		request := &pluginpb.CodeGeneratorRequest{ProtoFile: append(support(), files...), Parameter: proto.String("module=" + module + "/schemas")}
		for _, f := range files {
			request.FileToGenerate = append(request.FileToGenerate, f.GetName())
			f.Options.GoPackage = proto.String(strings.Replace(f.Options.GetGoPackage(), "postage/pbfast", module, 1))
			imports[strings.Split(f.Options.GetGoPackage(), ";")[0]] = true
			messages += len(f.MessageType)
		}
		options := allMethods
		switch files[0].GetName() {
		case "schemas/gogo/legacy.proto":
			request.FileToGenerate = request.FileToGenerate[1:]
			put("gogo/legacy/legacy.go", read(filepath.Join("testdata", "schemas", "legacy.go.txt")))
		case "schemas/beside/a.proto":
			options = Options{}
			put("beside/a/beside.go", read(filepath.Join("testdata", "schemas", "beside.go.txt")))
		}
		theirs, ours := protocGenGo(t, program, request), generated(t, request, options)
		for _, file := range slices.Concat(theirs.File, ours.File) {
			put(file.GetName(), file.GetContent())
		}
	}
	all := "package pbfast_test\n\nimport (\n"
	for path := range imports {
		all += fmt.Sprintf("_ %q\n", path)
	}
	put("all_test.go", all+")\n")
	for name, from := range map[string]string{
		"schemas_test.go": filepath.Join("testdata", "schemas", "schemas_test.go.txt"),
		"differ_test.go":  filepath.Join(self, "differ_test.go"),
	} {
		put(name, strings.ReplaceAll(read(from), `"postage/pbfast`, `"`+module))
	}
	for _, tags := range []string{"", "protoopaque"} {
		args := []string{"test", "-mod=mod", "-trimpath", "-vet=off", "-v", "-tags", tags, "."}
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", fmt.Sprint("SCHEMAS_ROUNDS=", rounds))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tags %q: %v\n%s", tags, err, out)
		}
		if tags == "" {
			t.Logf("%d schemas, %d messages\n%s", len(schemas), messages, out)
		}
	}
}

// protocGenGo is what protoc-gen-go answers.
func protocGenGo(t *testing.T, program string, request *pluginpb.CodeGeneratorRequest) *pluginpb.CodeGeneratorResponse {
	t.Helper()
	data, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Stdin = bytes.NewReader(data)
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("protoc-gen-go: %v\n%v", err, request.ProtoFile)
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(answer, response); err != nil || response.Error != nil {
		t.Fatalf("protoc-gen-go: %v %s\n%v", err, response.GetError(), request.ProtoFile)
	}
	return response
}

// put writes a file, with its folder.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
