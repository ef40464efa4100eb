package codegen

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// pbfast adds pbfast's code.
func pbfast(parameter string) step {
	return func(s *schema, dir string, files []*descriptorpb.FileDescriptorProto) error {
		return s.runPluginOn(s.pbfastPlugin(), parameter, dir, files)
	}
}

// pbfastPlugin runs pbfast's plug-in, which is part of this repository and so is not in the go.mod
// of folder tools.
func (s *schema) pbfastPlugin(flags ...string) []string {
	return append(append([]string{"go", "run", "-C", filepath.Join(s.tree, "pbfast")}, flags...), "./cmd/protoc-gen-pbfast")
}

// writePbfastTests writes the messages of pbfast's own tests: protobuf's conformance suite, each
// file in a package of its own, and the suite's protocol, which does not use pbfast.
func (s *schema) writePbfastTests(ctx context.Context) error {
	dir := filepath.Join(s.tree, "pbfast", "internal", "testmessages")
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{filepath.Join(dir, "proto")}}),
	}
	paths, err := filepath.Glob(filepath.Join(dir, "proto", "*.proto"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := filepath.Base(path)
		files, err := compiler.Compile(ctx, name)
		if err != nil {
			return err
		}
		pkg := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSuffix(name, ".proto"), "test_messages_"), "_", "")
		request := append(dependencies(files[0]), protodesc.ToFileDescriptorProto(files[0]))
		if err := s.writePbfastTest(filepath.Join(dir, pkg), request); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// writePbfastTest writes the package of the last file of a request.
func (s *schema) writePbfastTest(dir string, request []*descriptorpb.FileDescriptorProto) error {
	if err := clear(dir, "*.go"); err != nil {
		return err
	}
	own := request[len(request)-1]
	if own.Options == nil {
		own.Options = new(descriptorpb.FileOptions)
	}
	own.Options.GoPackage = proto.String("postage" + "/pbfast/internal/testmessages/" + filepath.Base(dir))
	// Some of the messages use MessageSets, which plug-ins refuse unless they are built for them.
	const legacy = "-tags=protolegacy"
	if err := s.runPluginOn([]string{"go", "run", legacy, "google.golang.org/protobuf/cmd/protoc-gen-go"}, "", dir, request, own.GetName()); err != nil {
		return err
	}
	if filepath.Base(dir) == "conformance" {
		return nil
	}
	if filepath.Base(dir) != "memory" { // an example calls its getters
		if err := withoutGetters(s, dir, request); err != nil {
			return err
		}
	}
	return s.runPluginOn(s.pbfastPlugin(legacy), "methods=pbfast,methods=reuse,methods=vt", dir, request, own.GetName())
}

// dependencies returns the files that a file imports, each after its own imports.
func dependencies(file protoreflect.FileDescriptor) []*descriptorpb.FileDescriptorProto {
	var out []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		for i := range file.Imports().Len() {
			imported := file.Imports().Get(i).FileDescriptor
			if !seen[imported.Path()] {
				seen[imported.Path()] = true
				add(imported)
				out = append(out, protodesc.ToFileDescriptorProto(imported))
			}
		}
	}
	add(file)
	return out
}
