package codegen

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// plugin runs a protoc plug-in of tools/go.mod.
func plugin(name, parameter string) step {
	return func(s *schema, dir string, files []*descriptorpb.FileDescriptorProto) error {
		return s.runPlugin(name, parameter, dir, files)
	}
}

// pooled adds vtprotobuf's methods, which take parts of messages from pools.
func pooled(s *schema, dir string, files []*descriptorpb.FileDescriptorProto) error {
	parameter := "features=size+marshal+unmarshal+pool"
	for _, md := range s.Messages {
		parameter += fmt.Sprintf(",pool=%spbpool.%s", registered, md.Name())
	}
	return s.runPlugin("protoc-gen-go-vtproto", parameter, dir, files)
}

// protobufFiles returns the schema's files, moved to a Go package, and to the protobuf package of
// its name: postage.encode.hook for pbhook.
func protobufFiles(s *schema, goPackage string) []*descriptorpb.FileDescriptorProto {
	return moved(s.descriptorProtos(), goPackage)
}

func moved(files []*descriptorpb.FileDescriptorProto, goPackage string) []*descriptorpb.FileDescriptorProto {
	protoPackage := strings.TrimSuffix("postage.encode."+strings.TrimPrefix(goPackage, "pb"), ".")
	for _, file := range files {
		old := "." + file.GetPackage() + "."
		file.Name = new(strings.ReplaceAll(protoPackage, ".", "/") + "/" + file.GetName())
		file.Package = new(protoPackage)
		file.Options = &descriptorpb.FileOptions{GoPackage: new(registered + goPackage)}
		for _, message := range file.MessageType {
			retarget(message, old, "."+protoPackage+".")
		}
	}
	return files
}

// retarget renames the types that a message's fields refer to.
func retarget(message *descriptorpb.DescriptorProto, from, to string) {
	for _, field := range message.Field {
		if rest, ok := strings.CutPrefix(field.GetTypeName(), from); ok {
			field.TypeName = new(to + rest)
		}
	}
	for _, nested := range message.NestedType {
		retarget(nested, from, to)
	}
}

// writeGreeter writes the messages of internal/service/greeter.
func (s *schema) writeGreeter(ctx context.Context) error {
	dir := filepath.Join(s.tree, "internal", "service", "greeter", "hello")
	hello, err := loadSchema(ctx, dir)
	if err != nil {
		return err
	}
	file := protodesc.ToFileDescriptorProto(hello.files[0])
	// protobuf's registry knows a file by its name, which has to be the program's only one.
	file.Name = new("postage/send/hello.proto")
	files := []*descriptorpb.FileDescriptorProto{file}
	if err := s.runPlugin("protoc-gen-go", "", dir, files); err != nil {
		return err
	}
	return s.runPlugin("protoc-gen-go-vtproto", "features=size+marshal+unmarshal", dir, files)
}
