package codegen

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A schema is the content of the .proto files.
type schema struct {
	tree   string // root of the source, an absolute path
	module string // import path of the folder of the generated packages
	// lost says why a form has no code, by the name of its package or of its file in bind.
	lost map[string]string
	// brought says that the messages are a user's. They keep protobuf's JSON names.
	brought bool

	files    []protoreflect.FileDescriptor    // sorted by name
	Roots    []protoreflect.MessageDescriptor // the first message of each file
	Messages []protoreflect.MessageDescriptor // all messages, file by file
	Enums    []protoreflect.EnumDescriptor
}

func loadSchema(ctx context.Context, dir string) (*schema, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil {
		return nil, err
	}
	sort.Strings(paths)
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", dir, err)
	}
	s := new(schema)
	for _, file := range files {
		s.add(file)
	}
	return s, nil
}

func (s *schema) add(file protoreflect.FileDescriptor) {
	s.files = append(s.files, file)
	s.Roots = append(s.Roots, file.Messages().Get(0))
	s.Messages = append(s.Messages, listed(file.Messages())...)
	s.Enums = append(s.Enums, listed(file.Enums())...)
}

func listed[T any](list interface {
	Len() int
	Get(int) T
}) []T {
	var out []T
	for i := range list.Len() {
		out = append(out, list.Get(i))
	}
	return out
}

// locate sets the source that the code is for.
func (s *schema) locate(tree string) (err error) {
	if s.tree, err = filepath.Abs(tree); err != nil {
		return err
	}
	module, err := pipeFrom(s.tree, nil, "go", "list", "-m", "-f", "{{if .Main}}{{.Dir}} {{.Path}}{{end}}")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(module)) { // one for each module of the workspace
		if dir, path, _ := strings.Cut(strings.TrimSpace(line), " "); dir == s.tree {
			s.module = path + "/" + internal
		}
	}
	if s.module == "" {
		return fmt.Errorf("%s is not the root of a Go module", s.tree)
	}
	return nil
}

// Has reports whether there is code for a form.
func (s *schema) Has(form string) bool {
	_, lost := s.lost[form]
	return !lost
}

// Why says why there is no code for a form.
func (s *schema) Why(form string) string { return s.lost[form] }

// Registered is the address of the generated packages, for templates.
func (s *schema) Registered() string { return registered }

// IsRoot reports whether the stage encodes the message itself, and not only as a part of another.
func (s *schema) IsRoot(md protoreflect.MessageDescriptor) bool { return slices.Contains(s.Roots, md) }

// descriptorProtos returns the files as descriptors that may be changed.
func (s *schema) descriptorProtos() []*descriptorpb.FileDescriptorProto {
	var out []*descriptorpb.FileDescriptorProto
	for _, file := range s.files {
		fd := protodesc.ToFileDescriptorProto(file)
		fd.SourceCodeInfo = nil
		out = append(out, fd)
	}
	return out
}

func fieldsOf(md protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	return listed(md.Fields())
}

func valuesOf(ed protoreflect.EnumDescriptor) []protoreflect.EnumValueDescriptor {
	return listed(ed.Values())
}

// A shape says how a field holds its values.
type shape string

const (
	single   shape = "single"
	optional shape = "optional"
	repeated shape = "repeated"
	mapped   shape = "map"
)

func shapeOf(fd protoreflect.FieldDescriptor) shape {
	switch {
	case fd.IsMap():
		return mapped
	case fd.IsList():
		return repeated
	case fd.HasOptionalKeyword(), realOneof(fd) != nil:
		return optional
	}
	return single
}

// realOneof returns a field's oneof. It returns nil for no oneof, and for the oneof that the word
// optional makes.
func realOneof(fd protoreflect.FieldDescriptor) protoreflect.OneofDescriptor {
	if oneof := fd.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
		return oneof
	}
	return nil
}

// goName returns the name that protobuf's own generator gives to a field: CreatedUnixMs for
// created_unix_ms.
func goName(fd protoreflect.FieldDescriptor) string { return camel(string(fd.Name())) }

func camel(snake string) string {
	var out []byte
	up := true
	for i := range len(snake) {
		c := snake[i]
		if c == '_' {
			up = true
			continue
		}
		if up && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		up = false
		out = append(out, c)
	}
	return string(out)
}

// lowerCamel returns the name that Cap'n Proto's compiler requires: createdUnixMs.
func lowerCamel(snake string) string {
	name := []byte(camel(snake))
	name[0] += 'a' - 'A'
	return string(name)
}

// goScalar returns the Go type of a value that is not a message.
func goScalar(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "bool"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return "int32"
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return "int64"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return "uint32"
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "uint64"
	case protoreflect.FloatKind:
		return "float32"
	case protoreflect.DoubleKind:
		return "float64"
	case protoreflect.StringKind:
		return "string"
	case protoreflect.BytesKind:
		return "[]byte"
	}
	panic(fmt.Sprintf("%s: no Go type for %s: teach goScalar", fd.FullName(), fd.Kind()))
}

func isMessage(fd protoreflect.FieldDescriptor) bool { return fd.Kind() == protoreflect.MessageKind }
func isEnum(fd protoreflect.FieldDescriptor) bool    { return fd.Kind() == protoreflect.EnumKind }
func isBytes(fd protoreflect.FieldDescriptor) bool   { return fd.Kind() == protoreflect.BytesKind }

func isText(fd protoreflect.FieldDescriptor) bool {
	return fd.Kind() == protoreflect.StringKind || isBytes(fd)
}
