package gen

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// Schemas that services use are generated for, compiled, and hold the differential tests:
// OpenTelemetry's, and some of googleapis. The times that are logged are those of a busy machine.
func TestPublishedSchemas(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("asks the module proxy for schemas: POSTAGE_LONG=1")
	}
	run := func(dir string, stdin []byte, name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(stdin))
		cmd.Env = append(os.Environ(), "GOWORK=off")
		var complaint strings.Builder
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, complaint.String())
		}
		return out
	}
	put := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("testdata", "published", from))
		if err == nil {
			err = os.WriteFile(to, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	asking := t.TempDir()
	put("request.go.txt", filepath.Join(asking, "main.go"))
	run(asking, nil, "go", "mod", "init", "request")
	run(asking, nil, "go", "get", "go.opentelemetry.io/proto/otlp@v1.11.1") // which asks for a version of googleapis
	run(asking, nil, "go", "mod", "tidy")
	module := path.Dir(string(runtime))
	data := run(asking, nil, "go", "run", ".", module+"/internal/published", module)

	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(filepath.Join("..", ".."))); err != nil {
		t.Fatal(err)
	}
	useWorkspaceProtobuf(t, copied)
	request := new(pluginpb.CodeGeneratorRequest)
	if err := proto.Unmarshal(data, request); err != nil {
		t.Fatal(err)
	}
	theirs := run("", data, "go", "run", "google.golang.org/protobuf/cmd/protoc-gen-go")
	put("subjects_test.go.txt", filepath.Join(copied, "subjects_test.go"))
	for _, hook := range []bool{true, false} {
		ours, err := proto.Marshal(generated(t, request, Options{Hook: hook, VT: true, Reuse: true}))
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range [][]byte{theirs, ours} {
			response := new(pluginpb.CodeGeneratorResponse)
			if err := proto.Unmarshal(answer, response); err != nil || response.Error != nil {
				t.Fatal(response.GetError(), err)
			}
			for _, file := range response.File {
				name := filepath.Join(copied, file.GetName())
				if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(file.GetContent()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		tests := "Agrees|Corners"
		if !hook {
			tests = "^$"
		}
		t.Logf("hook %v\n%s", hook, run(copied, nil, "go", "test", "-mod=mod", "-run", tests, "-bench", "Published", "-benchmem", "-benchtime", "100ms", "."))
	}
}

// generated is what the generator answers.
func generated(t *testing.T, request *pluginpb.CodeGeneratorRequest, options Options) *pluginpb.CodeGeneratorResponse {
	t.Helper()
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		t.Fatal(err)
	}
	notes, err := Run(plugin, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range notes {
		t.Log(note)
	}
	return plugin.Response()
}
