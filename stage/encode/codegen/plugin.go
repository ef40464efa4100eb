package codegen

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// tools is the folder of the generators' go.mod.
func (s *schema) tools() string { return filepath.Join(s.tree, "tools") }

// runTool runs a tool of tools/go.mod, with absolute paths.
func (s *schema) runTool(name string, args ...string) error {
	_, err := pipeFrom(s.tools(), nil, "go", append([]string{"tool", name}, args...)...)
	return err
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

// runPlugin passes the files to a protoc plug-in, as protoc would, and writes its answer into dir.
// The files' go_package gives the import path and the package name of dir.
func (s *schema) runPlugin(plugin, parameter, dir string, files []*descriptorpb.FileDescriptorProto) error {
	return s.runPluginOn([]string{"tool", plugin}, parameter, dir, files, names(files)...)
}

func names(files []*descriptorpb.FileDescriptorProto) []string {
	var names []string
	for _, file := range files {
		names = append(names, file.GetName())
	}
	return names
}

// runPluginOn is like runPlugin, for some of the files. They must come after those that they
// import. The plug-in is given as arguments for the go command.
func (s *schema) runPluginOn(plugin []string, parameter, dir string, files []*descriptorpb.FileDescriptorProto, names ...string) error {
	request := &pluginpb.CodeGeneratorRequest{ProtoFile: files, Parameter: proto.String(parameter), FileToGenerate: names}
	stdin, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	stdout, err := pipeFrom(s.tools(), stdin, "go", plugin...)
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

// clear removes the files of a directory that match the pattern, so that no generated file stays
// when its source is gone.
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
