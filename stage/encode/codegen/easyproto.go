package codegen

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeEasyproto writes the code that easyproto's users write by hand, in the style of its README:
// for every message T a marshalling function on the plain struct, and two unmarshalling functions,
// one of which leaves strings and bytes in the input.
func writeEasyproto(s *schema, path string) error {
	out := newSource("bind", "fmt", "strings", "github.com/VictoriaMetrics/easyproto", s.module+"plain")
	for _, md := range s.messages {
		easyMarshal(out, md)
		easyReset(out, md)
		easyUnmarshal(out, md, false)
		easyUnmarshal(out, md, true)
	}
	for _, md := range s.roots {
		for _, alias := range []string{"", "Alias"} {
			out.f("func easyDecode%s%s(m *plain.%s, src []byte) error {\neasyReset%s(m)\nreturn easyUnmarshal%s%s(m, src)\n}\n", alias, md.Name(), md.Name(), md.Name(), alias, md.Name())
		}
	}
	return out.save(path)
}

// easyType returns easyproto's name for a kind.
func easyType(fd protoreflect.FieldDescriptor) string {
	kind := fd.Kind().String()
	if isEnum(fd) {
		kind = "int32"
	}
	return strings.ToUpper(kind[:1]) + kind[1:]
}

func easyMarshal(out *source, md protoreflect.MessageDescriptor) {
	out.f("func easyMarshal%s(m *plain.%s, mm *easyproto.MessageMarshaler) {", md.Name(), md.Name())
	scalar := func(fd protoreflect.FieldDescriptor, mm, value string) {
		if isEnum(fd) {
			value = "int32(" + value + ")"
		}
		out.f("%s.Append%s(%d, %s)", mm, easyType(fd), fd.Number(), value)
	}
	for _, fd := range fieldsOf(md) {
		value := "m." + goName(fd)
		switch kind := shapeOf(fd); {
		case kind == single && isMessage(fd):
			out.f("easyMarshal%s(&%s, mm.AppendMessage(%d))", fd.Message().Name(), value, fd.Number())
		case kind == single:
			scalar(fd, "mm", value)
		case kind == optional && isMessage(fd):
			out.f("if %s != nil { easyMarshal%s(%s, mm.AppendMessage(%d)) }", value, fd.Message().Name(), value, fd.Number())
		case kind == optional:
			out.f("if %s != nil {", value)
			scalar(fd, "mm", deref(fd, value))
			out.f("}")
		case kind == repeated && isMessage(fd):
			out.f("for i := range %s { easyMarshal%s(&%s[i], mm.AppendMessage(%d)) }", value, fd.Message().Name(), value, fd.Number())
		case kind == repeated && fd.IsPacked() && isEnum(fd):
			out.f("mm.AppendInt32s(%d, *int32s(&%s))", fd.Number(), value)
		case kind == repeated && fd.IsPacked():
			out.f("mm.Append%ss(%d, %s)", easyType(fd), fd.Number(), value)
		case kind == repeated:
			out.f("for _, x := range %s {", value)
			scalar(fd, "mm", "x")
			out.f("}")
		case kind == mapped:
			out.f("for k, x := range %s {\nentry := mm.AppendMessage(%d)", value, fd.Number())
			scalar(fd.MapKey(), "entry", "k")
			if elem := fd.MapValue(); isMessage(elem) {
				out.f("easyMarshal%s(&x, entry.AppendMessage(2))", elem.Message().Name())
			} else {
				scalar(elem, "entry", "x")
			}
			out.f("}")
		}
	}
	out.f("}\n")
}

// easyReset empties a message and keeps the memory of its slices and maps.
func easyReset(out *source, md protoreflect.MessageDescriptor) {
	out.f("func easyReset%s(m *plain.%s) {", md.Name(), md.Name())
	for _, fd := range fieldsOf(md) {
		value := "m." + goName(fd)
		switch kind := shapeOf(fd); {
		case kind == single && isMessage(fd):
			out.f("easyReset%s(&%s)", fd.Message().Name(), value)
		case kind == single && fd.Kind() == protoreflect.BytesKind, kind == repeated:
			out.f("%s = %s[:0]", value, value)
		case kind == single && fd.Kind() == protoreflect.StringKind:
			out.f("%s = \"\"", value)
		case kind == single && fd.Kind() == protoreflect.BoolKind:
			out.f("%s = false", value)
		case kind == single:
			out.f("%s = 0", value)
		case kind == optional:
			out.f("%s = nil", value)
		case kind == mapped:
			out.f("clear(%s)", value)
		}
	}
	out.f("}\n")
}

func easyUnmarshal(out *source, md protoreflect.MessageDescriptor, alias bool) {
	suffix := ""
	if alias {
		suffix = "Alias"
	}
	owned := func(fd protoreflect.FieldDescriptor, value string) string {
		switch {
		case isEnum(fd):
			return "plain." + string(fd.Enum().Name()) + "(" + value + ")"
		case fd.Kind() == protoreflect.StringKind && !alias:
			return "strings.Clone(" + value + ")"
		case isBytes(fd) && !alias:
			return "append([]byte{}, " + value + "...)"
		}
		return value
	}
	get := func(fd protoreflect.FieldDescriptor, fc, variable string) {
		out.f("%s, ok := %s.%s()", variable, fc, easyType(fd))
		out.f("if !ok { return fmt.Errorf(\"cannot read %s\") }", fd.FullName())
	}
	nested := func(fd protoreflect.FieldDescriptor, at string) {
		out.f("data, ok := fc.MessageData()")
		out.f("if !ok { return fmt.Errorf(\"cannot read %s\") }", fd.FullName())
		out.f("if err := easyUnmarshal%s%s(%s, data); err != nil { return fmt.Errorf(\"cannot unmarshal %s: %%w\", err) }", suffix, fd.Message().Name(), at, fd.FullName())
	}
	out.f("func easyUnmarshal%s%s(m *plain.%s, src []byte) (err error) {", suffix, md.Name(), md.Name())
	out.f("var fc easyproto.FieldContext")
	out.f("for len(src) > 0 {")
	out.f("if src, err = fc.NextField(src); err != nil { return fmt.Errorf(\"cannot read next field in %s: %%w\", err) }", md.Name())
	out.f("switch fc.FieldNum {")
	for _, fd := range fieldsOf(md) {
		value := "m." + goName(fd)
		out.f("case %d:", fd.Number())
		switch kind := shapeOf(fd); {
		case kind == single && isMessage(fd):
			nested(fd, "&"+value)
		case kind == single && fd.Kind() == protoreflect.BytesKind && !alias:
			get(fd, "fc", "x")
			out.f("%s = append(%s[:0], x...)", value, value)
		case kind == single:
			get(fd, "fc", "x")
			out.f("%s = %s", value, owned(fd, "x"))
		case kind == optional && isMessage(fd):
			out.f("%s = new(plain.%s)", value, fd.Message().Name())
			nested(fd, value)
		case kind == optional:
			get(fd, "fc", "x")
			switch clone := owned(fd, "x"); {
			case isBytes(fd):
				out.f("%s = %s", value, clone)
			case isEnum(fd):
				out.f("y := %s\n%s = &y", clone, value)
			default:
				if clone != "x" {
					out.f("x = %s", clone)
				}
				out.f("%s = &x", value)
			}
		case kind == repeated && isMessage(fd):
			out.f("if n := len(%s); n < cap(%s) {", value, value)
			out.f("%s = %s[:n+1]\neasyReset%s(&%s[n])", value, value, fd.Message().Name(), value)
			out.f("} else { %s = append(%s, plain.%s{}) }", value, value, fd.Message().Name())
			nested(fd, "&"+value+"[len("+value+")-1]")
		case kind == repeated && fd.IsPacked() && isEnum(fd):
			out.f("var ok bool\nlist := int32s(&%s)", value)
			out.f("if *list, ok = fc.UnpackInt32s(*list); !ok { return fmt.Errorf(\"cannot read %s\") }", fd.FullName())
		case kind == repeated && fd.IsPacked():
			out.f("var ok bool")
			out.f("if %s, ok = fc.Unpack%ss(%s); !ok { return fmt.Errorf(\"cannot read %s\") }", value, easyType(fd), value, fd.FullName())
		case kind == repeated:
			get(fd, "fc", "x")
			out.f("%s = append(%s, %s)", value, value, owned(fd, "x"))
		case kind == mapped:
			key, elem := fd.MapKey(), fd.MapValue()
			out.f("data, ok := fc.MessageData()")
			out.f("if !ok { return fmt.Errorf(\"cannot read %s\") }", fd.FullName())
			out.f("var key %s\nvar value %s\nvar entry easyproto.FieldContext", inPlain(key), inPlain(elem))
			out.f("for len(data) > 0 {")
			out.f("if data, err = entry.NextField(data); err != nil { return fmt.Errorf(\"cannot read %s: %%w\", err) }", fd.FullName())
			out.f("switch entry.FieldNum {\ncase 1:")
			get(key, "entry", "x")
			out.f("key = %s\ncase 2:", owned(key, "x"))
			if isMessage(elem) {
				out.f("data, ok := entry.MessageData()")
				out.f("if !ok { return fmt.Errorf(\"cannot read %s\") }", elem.FullName())
				out.f("if err := easyUnmarshal%s%s(&value, data); err != nil { return fmt.Errorf(\"cannot unmarshal %s: %%w\", err) }\n}\n}", suffix, elem.Message().Name(), elem.FullName())
			} else {
				get(elem, "entry", "x")
				out.f("value = %s\n}\n}", owned(elem, "x"))
			}
			out.f("if %s == nil { %s = make(map[%s]%s) }", value, value, inPlain(key), inPlain(elem))
			out.f("%s[key] = value", value)
		}
	}
	out.f("}\n}\nreturn nil\n}\n")
}
