package gen

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// Schemas that services use are generated for, compiled, and hold the differential tests:
// OpenTelemetry's, and some of googleapis.
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
	copyTo := func(to, from string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("testdata", "published", from))
		if err != nil {
			t.Fatal(err)
		}
		put(t, to, string(data))
	}

	asking := t.TempDir()
	copyTo(filepath.Join(asking, "main.go"), "request.go.txt")
	run(asking, nil, "go", "mod", "init", "request")
	run(asking, nil, "go", "get", "go.opentelemetry.io/proto/otlp@v1.11.1") // which asks for a version of googleapis
	run(asking, nil, "go", "mod", "tidy")
	module := path.Dir(string(packages["runtime"]))
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
	answer := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(run("", data, "go", "run", "google.golang.org/protobuf/cmd/protoc-gen-go"), answer); err != nil || answer.Error != nil {
		t.Fatal(answer.GetError(), err)
	}
	copyTo(filepath.Join(copied, "subjects_test.go"), "subjects_test.go.txt")
	for _, file := range slices.Concat(answer.File, generated(t, request, allMethods).File) {
		put(t, filepath.Join(copied, file.GetName()), file.GetContent())
	}
	t.Log(run(copied, nil, "go", "test", "-mod=mod", "-run", "Agrees|Corners", "."))
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
	response := plugin.Response()
	if response.Error != nil {
		t.Fatal(response.GetError())
	}
	for _, note := range notes {
		t.Log(note)
	}
	return response
}
