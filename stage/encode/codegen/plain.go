package codegen

import (
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeStructs writes package plain, to which msgp and easyjson add their methods.
func writeStructs(s *schema, internal string) error {
	return page{schema: s}.write(plainFile(internal), "plain", "plain")
}

// Tag is a field's name in the tags of its struct.
func (s *schema) Tag(fd protoreflect.FieldDescriptor) string {
	tag := string(fd.Name())
	if s.brought {
		tag = fd.JSONName()
	}
	if shapeOf(fd) == optional {
		tag += ",omitempty"
	}
	return tag
}

func plainFile(internal string) string { return filepath.Join(internal, "plain", "plain.go") }

// msgpOmits limits a struct's optional fields. With one more, msgp v1.6.5 uses up all memory.
const msgpOmits = 64

func writeMsgp(s *schema, internal string) error {
	for _, md := range s.Messages {
		omitted := 0
		for _, fd := range fieldsOf(md) {
			if shapeOf(fd) == optional {
				omitted++
			}
		}
		if omitted > msgpOmits {
			return fmt.Errorf("msgp takes no more than %d optional fields, and %s has %d", msgpOmits, md.Name(), omitted)
		}
	}
	made := filepath.Join(internal, "plain", "msgp.go")
	return s.runTool(made, "msgp", "-file", plainFile(internal), "-o", made, "-tests=false", "-io=false")
}

// writeEasyjson runs easyjson, which compiles package plain. The methods must not have
// encoding/json's names.
func writeEasyjson(s *schema, internal string) error {
	easyjson, err := s.toolPath("easyjson")
	if err != nil {
		return err
	}
	return pipeIn(filepath.Dir(plainFile(internal)), nil, easyjson, "-all", "-no_std_marshalers", "-output_filename", "easyjson.go", "plain.go")
}

// plainType returns a field's type in package plain. Messages are held by value, and optional
// values are pointers.
func plainType(fd protoreflect.FieldDescriptor) string {
	switch shapeOf(fd) {
	case mapped:
		return "map[" + plainElem(fd.MapKey()) + "]" + plainElem(fd.MapValue())
	case repeated:
		return "[]" + plainElem(fd)
	case optional:
		if !isBytes(fd) { // nil if absent
			return "*" + plainElem(fd)
		}
	}
	return plainElem(fd)
}

// deref returns an expression for the content of an optional field.
func deref(fd protoreflect.FieldDescriptor, at string) string {
	if isBytes(fd) {
		return at
	}
	return "*" + at
}

func plainElem(fd protoreflect.FieldDescriptor) string {
	switch {
	case isMessage(fd):
		return string(fd.Message().Name())
	case isEnum(fd):
		return string(fd.Enum().Name())
	}
	return goScalar(fd)
}

// zero is the zero value of a scalar other than bytes.
func zero(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return `""`
	case protoreflect.BoolKind:
		return "false"
	}
	return "0"
}

// enumConst converts ORDER_STATUS_PAID to OrderStatusPaid.
func enumConst(value protoreflect.EnumValueDescriptor) string {
	return camel(strings.ToLower(string(value.Name())))
}

// comment returns the comment above the file's syntax line as Go comment lines, about the file's
// first message.
func comment(md protoreflect.MessageDescriptor) string {
	file := md.ParentFile()
	loc := file.SourceLocations().ByPath(protoreflect.SourcePath{12}) // syntax
	text := strings.TrimSpace(loc.LeadingComments)
	if text == "" {
		return ""
	}
	var out []string
	for _, line := range strings.Split(string(md.Name())+": "+text, "\n") {
		out = append(out, "// "+strings.TrimSpace(line))
	}
	return strings.Join(out, "\n")
}
