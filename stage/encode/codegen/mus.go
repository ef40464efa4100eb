package codegen

import "google.golang.org/protobuf/reflect/protoreflect"

// musElem returns the serializer of one value.
func musElem(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.EnumKind:
		return "mus" + plainElem(fd) + "{}"
	case protoreflect.StringKind:
		return "ord.String"
	case protoreflect.BytesKind:
		return "ord.ByteSlice"
	case protoreflect.BoolKind:
		return "ord.Bool"
	case protoreflect.FloatKind:
		return "raw.Float32"
	case protoreflect.DoubleKind:
		return "raw.Float64"
	}
	return "varint." + camel(goScalar(fd))
}

// musField returns the serializer of a field. Those that have to be constructed are variables.
func musField(fd protoreflect.FieldDescriptor) string {
	switch kind := shapeOf(fd); {
	case kind == optional && isBytes(fd):
		return "optionalBytes{}"
	case kind == single:
		return musElem(fd)
	}
	return "mus" + string(fd.Parent().Name()) + goName(fd)
}
