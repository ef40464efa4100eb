package codegen

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// writePB writes package pb, which protobuf, hyperpb, vtprotobuf and pbfast share, because the last
// two only add methods that protobuf does not call.
func writePB(s *schema, internal string) error {
	dir := filepath.Join(internal, "pb")
	if err := clear(dir, "*.go"); err != nil {
		return err
	}
	return s.runPlugin("protoc-gen-go", "", dir, pbFiles(s))
}

func pbFiles(s *schema) []*descriptorpb.FileDescriptorProto {
	return protobufFiles(s, "postage.encode", "pb")
}

func writeVT(s *schema, internal string) error {
	return s.runPlugin("protoc-gen-go-vtproto", "features=size+marshal+unmarshal+unmarshal_unsafe", filepath.Join(internal, "pb"), pbFiles(s))
}

func writePBFast(s *schema, internal string) error {
	files := pbFiles(s)
	return s.runPluginOn(s.pbfastPlugin(), "hook=false,reuse=true", filepath.Join(internal, "pb"), files)
}

// writePool writes package pbpool, whose vtprotobuf methods take parts of messages from pools.
func writePool(s *schema, internal string) error {
	pool := protobufFiles(s, "postage.encode.pool", "pbpool")
	dir := filepath.Join(internal, "pbpool")
	if err := clear(dir, "*.go"); err != nil {
		return err
	}
	parameters := []string{"features=size+marshal+unmarshal+pool"}
	for _, md := range s.Messages {
		parameters = append(parameters, fmt.Sprintf("pool=%spbpool.%s", registered, md.Name()))
	}
	if err := s.runPlugin("protoc-gen-go", "", dir, pool); err != nil {
		return err
	}
	return s.runPlugin("protoc-gen-go-vtproto", strings.Join(parameters, ","), dir, pool)
}

// writeOpaque writes package pbopaque, whose messages have methods in place of fields, and pbfast's
// methods on them.
func writeOpaque(s *schema, internal string) error {
	return writeMethods(s, internal, "pbopaque", false)
}

// writeLazy writes package pblazy: the same, and parts are decoded when they are asked for. pbfast
// leaves such messages to protobuf.
func writeLazy(s *schema, internal string) error {
	return writeMethods(s, internal, "pblazy", true)
}

func writeMethods(s *schema, internal, pkg string, lazy bool) error {
	files := protobufFiles(s, "postage.encode."+strings.TrimPrefix(pkg, "pb"), pkg)
	dir := filepath.Join(internal, pkg)
	if err := clear(dir, "*.go"); err != nil {
		return err
	}
	if lazy {
		for _, file := range files {
			for _, message := range file.MessageType {
				makeLazy(message)
			}
		}
	}
	const level = "default_api_level=API_OPAQUE"
	if err := s.runPlugin("protoc-gen-go", level, dir, files); err != nil || lazy {
		return err
	}
	return s.runPluginOn(s.pbfastPlugin(), "hook=false,"+level, dir, files)
}

// makeLazy marks all fields that hold messages, except maps.
func makeLazy(message *descriptorpb.DescriptorProto) {
	for _, field := range message.Field {
		entry := slices.ContainsFunc(message.NestedType, func(nested *descriptorpb.DescriptorProto) bool {
			return strings.HasSuffix(field.GetTypeName(), "."+message.GetName()+"."+nested.GetName())
		})
		if field.GetType() == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE && !entry {
			field.Options = &descriptorpb.FieldOptions{Lazy: proto.Bool(true)}
		}
	}
}

// protobufFiles returns the schema's files, moved to another protobuf package and Go package.
func protobufFiles(s *schema, protoPackage, goPackage string) []*descriptorpb.FileDescriptorProto {
	files := s.descriptorProtos()
	for _, file := range files {
		old := "." + file.GetPackage() + "."
		file.Name = proto.String(strings.ReplaceAll(protoPackage, ".", "/") + "/" + file.GetName())
		file.Package = proto.String(protoPackage)
		file.Options = &descriptorpb.FileOptions{GoPackage: proto.String(registered + goPackage)}
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
			field.TypeName = proto.String(to + rest)
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
	file.Name = proto.String("postage/send/hello.proto")
	files := []*descriptorpb.FileDescriptorProto{file}
	if err := s.runPlugin("protoc-gen-go", "", dir, files); err != nil {
		return err
	}
	return s.runPlugin("protoc-gen-go-vtproto", "features=size+marshal+unmarshal", dir, files)
}
