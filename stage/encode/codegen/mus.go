package codegen

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeMus writes serializers for mus in the way its README shows and its own generator writes
// them: for every message T a type musT with Size, Marshal, Unmarshal and Skip, built from the
// library's serializers for strings, slices, maps and pointers.
func writeMus(s *schema, path string) error {
	out := newSource("bind", "github.com/mus-format/mus-go/ord", "github.com/mus-format/mus-go/raw", "github.com/mus-format/mus-go/varint", s.module+"plain")
	for _, md := range s.messages {
		musSerializer(out, md)
	}
	for _, ed := range s.enums {
		out.f("type mus%s struct{}\n", ed.Name())
		out.f("func (mus%s) Size(v plain.%s) int { return varint.Int32.Size(int32(v)) }\n", ed.Name(), ed.Name())
		out.f("func (mus%s) Marshal(v plain.%s, bs []byte) int { return varint.Int32.Marshal(int32(v), bs) }\n", ed.Name(), ed.Name())
		out.f("func (mus%s) Unmarshal(bs []byte) (plain.%s, int, error) {\nv, n, err := varint.Int32.Unmarshal(bs)\nreturn plain.%s(v), n, err\n}\n", ed.Name(), ed.Name(), ed.Name())
		out.f("func (mus%s) Skip(bs []byte) (int, error) { return varint.Int32.Skip(bs) }\n", ed.Name())
	}
	return out.save(path)
}

// musElem returns the serializer of one value.
func musElem(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return "mus" + string(fd.Message().Name()) + "{}"
	case protoreflect.EnumKind:
		return "mus" + string(fd.Enum().Name()) + "{}"
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

func musSerializer(out *source, md protoreflect.MessageDescriptor) {
	name := md.Name()
	for _, fd := range fieldsOf(md) {
		switch kind := shapeOf(fd); {
		case kind == optional && isBytes(fd): // nothing has to be constructed
		case kind == optional:
			out.f("var %s = ord.NewPtrSer[%s](%s)\n", musField(fd), inPlain(fd), musElem(fd))
		case kind == repeated:
			out.f("var %s = ord.NewSliceSer[%s](%s)\n", musField(fd), inPlain(fd), musElem(fd))
		case kind == mapped:
			out.f("var %s = ord.NewMapSer[%s, %s](%s, %s)\n", musField(fd), inPlain(fd.MapKey()), inPlain(fd.MapValue()), musElem(fd.MapKey()), musElem(fd.MapValue()))
		}
	}
	out.f("type mus%s struct{}\n", name)
	// each writes a line for each field, of its serializer and its name.
	each := func(head, line, end string) {
		out.f("func (mus%s) %s {", name, strings.ReplaceAll(head, "•", string(name)))
		if strings.Contains(line, "n1") && md.Fields().Len() > 0 {
			out.f("var n1 int")
		}
		for _, fd := range fieldsOf(md) {
			out.f("%s", strings.NewReplacer("S.", musField(fd)+".", "v.F", "v."+goName(fd)).Replace(line))
		}
		out.f("%s\n}\n", end)
	}
	each("Size(v plain.•) (n int)", "n += S.Size(v.F)", "return n")
	each("Marshal(v plain.•, bs []byte) (n int)", "n += S.Marshal(v.F, bs[n:])", "return n")
	each("Unmarshal(bs []byte) (v plain.•, n int, err error)", "v.F, n1, err = S.Unmarshal(bs[n:])\nn += n1\nif err != nil { return v, n, err }", "return v, n, nil")
	each("Skip(bs []byte) (n int, err error)", "n1, err = S.Skip(bs[n:])\nn += n1\nif err != nil { return n, err }", "return n, nil")
}
