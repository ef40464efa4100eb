package codegen

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// tools is the folder of the generators' go.mod.
func (s *schema) tools() string { return filepath.Join(s.tree, "tools") }

// runTool runs a tool of tools/go.mod that writes a file, given absolute paths. It does not use `go
// tool`, which would hide that a signal ended the tool.
func (s *schema) runTool(made, name string, args ...string) error {
	path, err := s.toolPath(name)
	if err != nil {
		return err
	}
	if err := pipeIn(s.tools(), nil, path, args...); err != nil {
		return err
	}
	if info, err := os.Stat(made); err != nil || info.Size() == 0 {
		return fmt.Errorf("%s has written no %s", name, filepath.Base(made))
	}
	return nil
}

// toolPath returns the path at which the go command keeps a tool of tools/go.mod.
func (s *schema) toolPath(name string) (string, error) {
	path, err := pipeFrom(s.tools(), nil, "go", "tool", "-n", name)
	return strings.TrimSpace(string(path)), err
}

// pipeIn runs a program in a directory.
func pipeIn(dir string, stdin []byte, name string, args ...string) error {
	_, err := pipeFrom(dir, stdin, name, args...)
	return err
}

// generatorTime limits a generator's work on one message. The go command may have to compile the
// generator first, in the same time.
const generatorTime = 10 * time.Minute

func pipeFrom(dir string, stdin []byte, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), generatorTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %q: %w\n%s%s", name, args, cmp.Or(ctx.Err(), err), stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// runPlugin passes the files to a protoc plug-in, as protoc would, and writes its answer into dir.
// The files' go_package gives the import path and the package name of dir.
func (s *schema) runPlugin(plugin, parameter, dir string, files []*descriptorpb.FileDescriptorProto, names ...string) error {
	path, err := s.toolPath(plugin)
	if err != nil {
		return err
	}
	return s.runPluginOn([]string{path}, parameter, dir, files, names...)
}

// runPluginOn is runPlugin for the named files, or all but protobuf's own if none is named. Each file
// must come after its imports. The plug-in is a program and its arguments.
func (s *schema) runPluginOn(plugin []string, parameter, dir string, files []*descriptorpb.FileDescriptorProto, names ...string) error {
	if len(names) == 0 {
		for _, file := range files {
			if !strings.HasPrefix(file.GetName(), "google/protobuf/") {
				names = append(names, file.GetName())
			}
		}
	}
	request := &pluginpb.CodeGeneratorRequest{ProtoFile: files, Parameter: proto.String(parameter), FileToGenerate: names}
	stdin, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	stdout, err := pipeFrom(s.tools(), stdin, plugin[0], plugin[1:]...)
	if err != nil {
		return err
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(stdout, response); err != nil {
		return fmt.Errorf("%q: read its answer: %w", plugin, err)
	}
	if response.Error != nil {
		return fmt.Errorf("%q: %s", plugin, response.GetError())
	}
	for _, file := range response.File {
		path := filepath.Join(dir, filepath.Base(file.GetName()))
		if err := save(path, []byte(file.GetContent())); err != nil {
			return err
		}
	}
	return nil
}

// getters are methods of protobuf's generated code without which its messages work.
var getters = regexp.MustCompile(`(?ms)^(?:// [^\n]*\n)*func \((?:x )?\*\w+\) (?:Get\w+|Descriptor)\(.*?^}\n\n`)

// withoutGetters removes them from the code of the last file: they are half of it.
func withoutGetters(_ *schema, dir string, files []*descriptorpb.FileDescriptorProto) error {
	name := filepath.Base(files[len(files)-1].GetName())
	path := filepath.Join(dir, strings.TrimSuffix(name, ".proto")+".pb.go")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return save(path, getters.ReplaceAll(text, nil))
}

// clear removes a directory's files that match the pattern, so that no generated file outlives its
// source.
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
