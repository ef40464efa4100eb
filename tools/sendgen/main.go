// Command sendgen writes the generated code of service/greeter: what protoc-gen-go
// and protoc-gen-go-vtproto make of its .proto file. The plug-ins are run from
// tools/go.mod, so that their versions are pinned. It needs no protoc: the file is
// compiled in process.
//
//	cd tools && go run ./sendgen
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(context.Background(), filepath.Join("..", "service", "greeter", "hello"), "hello.proto"); err != nil {
		fmt.Fprintln(os.Stderr, "sendgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, name string) error {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, name)
	if err != nil {
		return fmt.Errorf("compile %s: %w", name, err)
	}
	file := protodesc.ToFileDescriptorProto(files[0])
	// protobuf's registry knows a file by its name, which has to be the program's only one.
	file.Name = proto.String("postage/send/" + name)
	for _, plugin := range []struct{ name, parameter string }{
		{"protoc-gen-go", ""},
		{"protoc-gen-go-vtproto", "features=size+marshal+unmarshal"},
	} {
		if err := generate(ctx, plugin.name, plugin.parameter, dir, file); err != nil {
			return fmt.Errorf("%s: %w", plugin.name, err)
		}
	}
	return nil
}

// generate hands a file to a protoc plug-in, as protoc would, and writes what it answers
// into dir.
func generate(ctx context.Context, plugin, parameter, dir string, file *descriptorpb.FileDescriptorProto) error {
	stdin, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		ProtoFile: []*descriptorpb.FileDescriptorProto{file}, FileToGenerate: []string{file.GetName()}, Parameter: &parameter,
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", plugin)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(stdout.Bytes(), response); err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.GetName())), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
