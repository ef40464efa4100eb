package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// runTool runs a tool of tools/go.mod, which is the module of the working directory.
func runTool(name string, args ...string) error {
	_, err := pipeTool(nil, name, args...)
	return err
}

func pipeTool(stdin []byte, name string, args ...string) ([]byte, error) {
	return pipe(stdin, "go", append([]string{"tool", name}, args...)...)
}

func pipe(stdin []byte, name string, args ...string) ([]byte, error) {
	return pipeFrom("", stdin, name, args...)
}

// pipeIn runs a program in a directory.
func pipeIn(dir string, stdin []byte, name string, args ...string) error {
	_, err := pipeFrom(dir, stdin, name, args...)
	return err
}

func pipeFrom(dir string, stdin []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %q: %w\n%s%s", name, args, err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// runPlugin hands the files to a protoc plug-in, as protoc would, and writes what it
// answers into dir. The files' go_package is import path and package of dir.
func runPlugin(plugin, parameter, dir string, files []*descriptorpb.FileDescriptorProto) error {
	request := &pluginpb.CodeGeneratorRequest{ProtoFile: files, Parameter: proto.String(parameter)}
	for _, file := range files {
		request.FileToGenerate = append(request.FileToGenerate, file.GetName())
	}
	stdin, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	stdout, err := pipeTool(stdin, plugin)
	if err != nil {
		return err
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(stdout, response); err != nil {
		return fmt.Errorf("%s: read its answer: %w", plugin, err)
	}
	if response.Error != nil {
		return fmt.Errorf("%s: %s", plugin, response.GetError())
	}
	for _, file := range response.File {
		path := filepath.Join(dir, filepath.Base(file.GetName()))
		if err := save(path, []byte(file.GetContent())); err != nil {
			return err
		}
	}
	return nil
}

// clear removes the files of a directory that match the pattern, so that no generated
// file outlives its source.
func clear(dir, pattern string) error {
	stale, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return err
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
