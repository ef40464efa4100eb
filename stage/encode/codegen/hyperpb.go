package codegen

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// hyperValue returns an expression that takes a value, in its Go type, out of a protoreflect.Value.
func hyperValue(fd protoreflect.FieldDescriptor, value string) string {
	if !isMessage(fd) && !isEnum(fd) {
		switch goType := goScalar(fd); goType {
		case "int32":
			return "int32(" + value + ".Int())"
		case "int64":
			return value + ".Int()"
		case "uint32":
			return "uint32(" + value + ".Uint())"
		case "uint64":
			return value + ".Uint()"
		case "float32":
			return "float32(" + value + ".Float())"
		case "float64":
			return value + ".Float()"
		}
	}
	kind := fd.Kind().String()
	return value + "." + strings.ToUpper(kind[:1]) + kind[1:] + "()"
}
