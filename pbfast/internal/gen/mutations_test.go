package gen

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"

	"postage/pbfast/internal/testmessages/edition2023"
	"postage/pbfast/internal/testmessages/proto3"
)

// requestFor asks for the code of a file of the test messages.
func requestFor(file protoreflect.FileDescriptor) *pluginpb.CodeGeneratorRequest {
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{file.Path()}}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(file))
	}
	add(file)
	return request
}

// generate writes the code of a file of the test messages with the given options.
func generate(t *testing.T, file protoreflect.FileDescriptor, options Options) string {
	t.Helper()
	response := generated(t, requestFor(file), options)
	if len(response.File) != 1 {
		t.Fatalf("%d files", len(response.File))
	}
	return response.File[0].GetContent()
}

var allMethods = Options{Methods: []string{"pbfast", "reuse", "vt"}}

var testFiles = map[string]protoreflect.FileDescriptor{
	"proto3/test_messages_proto3_pbfast.pb.go":           proto3.File_test_messages_proto3_proto,
	"edition2023/test_messages_edition2023_pbfast.pb.go": edition2023.File_test_messages_edition2023_proto,
}

// The code that is committed is what the generator makes.
func TestCommittedCode(t *testing.T) {
	for path, file := range testFiles {
		committed, err := os.ReadFile(filepath.Join("..", "testmessages", path))
		if err != nil {
			t.Fatal(err)
		}
		if generate(t, file, allMethods) != string(committed) {
			t.Errorf("%s is not what the generator makes: go generate", path)
		}
	}
}

// useWorkspaceProtobuf has a copy of the module ask for the version of protobuf-go that the
// workspace has, which made the test messages, and not for the oldest that works.
func useWorkspaceProtobuf(t *testing.T, dir string) {
	t.Helper()
	self := filepath.Join("..", "..")
	list := exec.Command("go", "list", "-m", "google.golang.org/protobuf")
	list.Dir = self
	version, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	edit := exec.Command("go", "mod", "edit", "-require="+strings.Replace(strings.TrimSpace(string(version)), " ", "@", 1))
	edit.Dir = dir
	if out, err := edit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var sums []byte
	for _, name := range []string{"go.sum", filepath.Join("..", "go.sum")} {
		if sum, err := os.ReadFile(filepath.Join(self, name)); err == nil {
			sums = append(sums, sum...)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Checks that generated code makes, and the code without each.
var generatedChecks = map[string]func(string) string{
	"room": func(code string) string {
		return regexp.MustCompile(`(?m)^\s*w, i = e\.Room\(.*\n`).ReplaceAllString(code, "")
	},
	"encode-utf8": func(code string) string {
		return strings.ReplaceAll(code, "e.PutText(", "unchecked(") + `
func unchecked(w []byte, i int, v string, tag byte) int {
	if i = runtime.PutRawText(w, i, v); tag != 0 {
		i = runtime.PutByte(w, i, tag)
	}
	return i
}
`
	},
	"decode-utf8": func(code string) string { return strings.ReplaceAll(code, ".Text(p, i)", ".RawText(p, i)") },
	"map-depth": func(code string) string {
		return regexp.MustCompile(`d\.UnknownOrMap\((.*), depth, .*\)`).ReplaceAllString(code, "d.Unknown($1)")
	},
	"presence": func(code string) string { return strings.ReplaceAll(code, ".PresentBytes(", ".Bytes(") },
	"merge": func(code string) string {
		code = regexp.MustCompile(`runtime\.Member\[(\w+)\]\(.*\)`).ReplaceAllString(code, "new($1)")
		return regexp.MustCompile(`= (m\.\w+)\.pbfastDecode\(`).ReplaceAllString(code, "= none($1).pbfastDecode(") +
			"\nfunc none[M any](M) (none M) { return none }\n"
	},
}

// A cut takes a check out of the run time, or out of the generator: old is its source, and new is
// what stands there instead.
type cut struct{ file, old, new string }

var cuts = []cut{
	{"runtime/decode.go", "	case i < 0 || n > uint64(len(p)-i):", "	case i < 0:"},
	{"runtime/decode.go", "	case depth <= 0:\n		return d, nil, tooDeep, 0\n", ""},
	{"runtime/decode.go", "n < 0x80 && n < len(p)-i", "n < 0x80"},
	{"runtime/read.go", "p[i] < 0x80 && int(p[i]) < len(p)-i {\n		return i", "p[i] < 0x80 {\n		return i"},
	{"runtime/read.go", "uint(i) < uint(len(p)) && p[i] < 0x80 {\n		return uint64", "p[i] < 0x80 {\n		return uint64"},
	{"runtime/read.go", "uint(i) >= uint(len(p)) || p[i] > 32", "p[i] > 32"},
	{"runtime/read.go", " || p[i] > 32", ""},
	{"runtime/read.go", " || i+1+int(p[i]) > len(p)", ""},
	{"runtime/read.go", " || i+1+int(p[i]) < 8", ""},
	{"runtime/read.go", "n <= 8:", "n <= 9:"},
	{"runtime/read.go", "n <= 16:", "n <= 17:"},
	{"runtime/read.go", "!validutf8.Mixed(unsafe.String(unsafe.SliceData(v), len(v)))", "false"},
	{"runtime/read.go", "	if !validutf8.Valid(v) {", "	if false {"},
	{"runtime/read.go", "	if i < 0 || n > uint64(len(p)-i) {", "	if i < 0 {"},
	{"runtime/read.go", "if b > 1 {", "if b > 0x7f {"},
	{"runtime/decode.go", "number < 1 || number > uint64(protowire.MaxValidNumber)", "number < 1"},
	{"runtime/decode.go", "if number < 1 ||", "if"},
	{"runtime/foreign.go", "	if n < 0 {\n		return m, malformed\n	}\n", ""},
	{"runtime/decode.go", " && d.endTag == tag", ""},
	{"runtime/decode.go", " && d.endDepth == depth-1", ""},
	{"runtime/decode.go", "	case i >= 0:\n		return malformed\n	}\n	return i", "	}\n	return i"},
	{"runtime/decode.go", "	if depth <= 0 {\n		return d, nil, tooDeep, 0\n	}\n	return d, p, i", "	return d, p, i"},
	{"runtime/known.go", "p[0] != tag || end", "end"},
	{"runtime/known.go", "m == nil || len(*(*[]byte)(unsafe.Add(unsafe.Pointer(m), at))) > 0 {\n				return slowEncode", "m == nil {\n				return slowEncode"},
	{"runtime/foreign.go", "	if depth <= 0 {\n		return m, tooDeep\n	}\n", ""},
	{"runtime/foreign.go", "RecursionLimit: depth + 1", "RecursionLimit: depth"},
	{"runtime/read.go", "unZigZag(uint64(uint32(v)))), i", "unZigZag(v)), i"},
	{"runtime/packed.go", "		if v, i = slowVarint(p, i); i < 0 {\n			return dst, malformed\n", "		if v, i = slowVarint(p, i); i < 0 {\n			break\n"},
	{"runtime/packed.go", "				if v, i = slowVarint(p, i); i < 0 {\n					return dst, malformed\n", "				if v, i = slowVarint(p, i); i < 0 {\n					return dst[:n+k], end\n"},
	{"runtime/decode.go", "&protoiface.UnmarshalDiscardUnknown == 0) {", "&protoiface.UnmarshalDiscardUnknown < 2) {"},
	{"runtime/packed.go", "if unsafe.Sizeof(v) == 4 {", "if false {"},
	{"runtime/packed.go", "if len(p)%size != 0 {", "if false {"},
	{"runtime/read.go", "if len(p)-i < 4 {", "if false {"},
	{"runtime/read.go", "if len(p)-i < 8 {", "if false {"},
	{"runtime/encode.go", "size := e.size(e.root)", "size := len(w)"},
	{"runtime/encode.go", "	if i > 0 {\n		copy(w, w[i:])\n	}\n", ""},
	{"runtime/encode.go", "i < 2 || n >= 0x80", "n >= 0x80"},
	{"runtime/text.go", "!validutf8.Mixed(s) {", "false {"},
	{"runtime/text.go", "if !validutf8.String(s) {", "if false {"},
	{"runtime/text.go", "high = uint64(a | b | c)", ""},
	{"validutf8/mixed_amd64.go", "p[n-1] < 0xc0 && ", ""},
	{"validutf8/mixed_amd64.go", " && p[n-2] < 0xe0", ""},
	{"validutf8/mixed_amd64.go", " && p[n-3] < 0xf0", ""},
	{"validutf8/mixed_amd64.s", "	PAND    X8, X2   \\\n", ""},
	{"validutf8/mixed_amd64.s", "	PAND  X0, X7\n", ""},
	{"internal/gen/opaque.go", "f.bit() {\n		g.f", "f.bit() && false {\n		g.f"},
}

// differential runs the tests of a copy of the module.
func differential(module string) (string, error) {
	cmd := exec.Command("go", "test", "-mod=mod", "-failfast", "-timeout", "5m", ".", "./validutf8")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "POSTAGE_LONG=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// What TestMutations takes out is there.
func TestCutsAreThere(t *testing.T) {
	for _, c := range cuts {
		text, err := os.ReadFile(filepath.Join("..", "..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.old) {
			t.Errorf("%s has no %q any more", c.file, c.old)
		}
	}
}

// Each check that the generator or the run time makes is needed: without it, tests fail.
func TestMutations(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("builds some thirty programs: POSTAGE_LONG=hours")
	}
	module := t.TempDir()
	if err := os.CopyFS(module, os.DirFS(filepath.Join("..", ".."))); err != nil {
		t.Fatal(err)
	}
	useWorkspaceProtobuf(t, module)
	write := func(path, text string) { put(t, filepath.Join(module, path), text) }
	test := func() (string, error) { return differential(module) }
	if out, err := test(); err != nil {
		t.Fatalf("the tests fail with every check in place: %v\n%s", err, out)
	}
	caught := func(t *testing.T) {
		t.Helper()
		out, err := test()
		switch {
		case err == nil:
			t.Error("no test fails")
		case strings.Contains(out, "[build failed]"):
			t.Errorf("it does not build:\n%s", out)
		}
	}
	for check, without := range generatedChecks {
		t.Run(check, func(t *testing.T) {
			cut := false
			for path, file := range testFiles {
				code := generate(t, file, allMethods)
				less := without(code)
				cut = cut || less != code
				write(filepath.Join("internal/testmessages", path), less)
			}
			if !cut {
				t.Fatal("it is not there any more")
			}
			caught(t)
		})
	}
	for path, file := range testFiles {
		write(filepath.Join("internal/testmessages", path), generate(t, file, allMethods))
	}
	for _, c := range cuts {
		t.Run(c.file+": "+strings.TrimSpace(c.old), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", c.file))
			if err != nil {
				t.Fatal(err)
			}
			write(c.file, strings.Replace(string(text), c.old, c.new, 1))
			caught(t)
			write(c.file, string(text))
		})
	}
}
