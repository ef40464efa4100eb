package codegen

import (
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var flatForm = form{name: "flatbuffers", prefix: "flat", Type: "*flatmsg.", ByteText: true}

// writeFlatbuffers writes a FlatBuffers schema, and package flatmsg, which flatc makes from it.
func writeFlatbuffers(s *schema, internal string) error {
	dir := filepath.Join(internal, "flatmsg")
	if err := clear(dir, "*.go"); err != nil {
		return err
	}
	path := filepath.Join(dir, "messages.fbs")
	text, err := render("flatbuffers schema", page{schema: s})
	if err == nil {
		err = save(path, []byte(text))
	}
	if err != nil {
		return err
	}
	if _, err := pipeFrom("", nil, "flatc", "--go", "--go-namespace", "flatmsg", "-o", internal, path); err != nil {
		return fmt.Errorf("flatc, of Debian's package flatbuffers-compiler: %w", err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range made {
		content, err := os.ReadFile(path)
		if err == nil {
			err = formatted(path, content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func flatElem(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.EnumKind:
		return plainElem(fd)
	case protoreflect.StringKind:
		return "string"
	case protoreflect.BytesKind:
		return "[ubyte]"
	}
	return map[string]string{
		"float32": "float", "float64": "double", "bool": "bool",
		"int32": "int", "int64": "long", "uint32": "uint", "uint64": "ulong",
	}[goScalar(fd)]
}

// flatHeld reports whether a value is stored by reference.
func flatHeld(fd protoreflect.FieldDescriptor) bool {
	return isMessage(fd) || isText(fd)
}

// flatPrepend returns the builder's method for a scalar element of a vector.
func flatPrepend(fd protoreflect.FieldDescriptor) string {
	if isEnum(fd) {
		return "Int32"
	}
	return camel(goScalar(fd))
}

// flatCreate returns an expression that builds a value that is stored by reference, and returns its
// offset.
func flatCreate(fd protoreflect.FieldDescriptor, value string) string {
	switch {
	case isMessage(fd):
		return fmt.Sprintf("flatBuild%s(%s, b)", fd.Message().Name(), address(value))
	case isBytes(fd):
		return "b.Builder.CreateByteVector(" + value + ")"
	}
	return "b.Builder.CreateString(" + value + ")"
}

// flatScalar returns a scalar in its type in FlatBuffers.
func flatScalar(fd protoreflect.FieldDescriptor, value string) string {
	if isEnum(fd) {
		return "flatmsg." + string(fd.Enum().Name()) + "(" + value + ")"
	}
	return value
}

// flatValue returns an expression for a field's value, for text in bytes.
func flatValue(holder, name string, fd protoreflect.FieldDescriptor) string {
	if isBytes(fd) {
		name += "Bytes"
	}
	return holder + "." + name + "()"
}
