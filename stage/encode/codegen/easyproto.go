package codegen

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// easyType returns easyproto's name for a kind.
func easyType(fd protoreflect.FieldDescriptor) string {
	kind := fd.Kind().String()
	if isEnum(fd) {
		kind = "int32"
	}
	return strings.ToUpper(kind[:1]) + kind[1:]
}

// easyAppend appends a value that is not a message to mm.
func easyAppend(fd protoreflect.FieldDescriptor, mm, value string) string {
	if isEnum(fd) {
		value = "int32(" + value + ")"
	}
	return fmt.Sprintf("%s.Append%s(%d, %s)", mm, easyType(fd), fd.Number(), value)
}

// An easyField is a field to unmarshal. With Alias, strings and bytes stay in the input.
type easyField struct {
	Alias string
	Field protoreflect.FieldDescriptor
	At    string // where it goes
}

func newEasyField(alias string, fd protoreflect.FieldDescriptor) easyField {
	return easyField{alias, fd, "m." + goName(fd)}
}

// Owned is an expression of the plain type, in memory of its own unless Alias is set.
func (e easyField) Owned(fd protoreflect.FieldDescriptor, value string) string {
	switch {
	case fd.Kind() == protoreflect.StringKind && e.Alias == "":
		return "strings.Clone(" + value + ")"
	case isBytes(fd) && e.Alias == "":
		return "append([]byte{}, " + value + "...)"
	}
	return convert(false, fd, value)
}

// Get declares x, a value of a field context.
func (e easyField) Get(fd protoreflect.FieldDescriptor, fc string) string {
	return easyGet(fd, fc, "x", easyType(fd))
}

// Data declares data, the bytes of a part.
func (e easyField) Data(fd protoreflect.FieldDescriptor, fc string) string {
	return easyGet(fd, fc, "data", "MessageData")
}

func easyGet(fd protoreflect.FieldDescriptor, fc, variable, method string) string {
	return fmt.Sprintf("%s, ok := %s.%s()\nif !ok { return fmt.Errorf(\"cannot read %s\") }", variable, fc, method, fd.FullName())
}

// Nested unmarshals a part.
func (e easyField) Nested(fd protoreflect.FieldDescriptor, fc, at string) string {
	return fmt.Sprintf("%s\nif err := easyUnmarshal%s%s(%s, data); err != nil { return fmt.Errorf(\"cannot unmarshal %s: %%w\", err) }",
		e.Data(fd, fc), e.Alias, fd.Message().Name(), at, fd.FullName())
}
