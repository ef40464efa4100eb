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

// An easyReader writes the functions that unmarshal.
type easyReader struct {
	*source
	alias  bool
	suffix string
}

// owned is an expression of the plain type, in memory of its own unless alias is set.
func (r *easyReader) owned(fd protoreflect.FieldDescriptor, value string) string {
	switch {
	case isEnum(fd):
		return "plain." + string(fd.Enum().Name()) + "(" + value + ")"
	case fd.Kind() == protoreflect.StringKind && !r.alias:
		return "strings.Clone(" + value + ")"
	case isBytes(fd) && !r.alias:
		return "append([]byte{}, " + value + "...)"
	}
	return value
}

// get declares a variable with a value of a field context.
func (r *easyReader) get(fd protoreflect.FieldDescriptor, fc, variable, method string) {
	r.f("%s, ok := %s.%s()\nif !ok { return fmt.Errorf(\"cannot read %s\") }", variable, fc, method, fd.FullName())
}

// nested unmarshals a part.
func (r *easyReader) nested(fd protoreflect.FieldDescriptor, fc, at string) {
	r.get(fd, fc, "data", "MessageData")
	r.f("if err := easyUnmarshal%s%s(%s, data); err != nil { return fmt.Errorf(\"cannot unmarshal %s: %%w\", err) }", r.suffix, fd.Message().Name(), at, fd.FullName())
}

func easyUnmarshal(out *source, md protoreflect.MessageDescriptor, alias bool) {
	r := &easyReader{out, alias, ""}
	if alias {
		r.suffix = "Alias"
	}
	r.f("func easyUnmarshal%s%s(m *plain.%s, src []byte) (err error) {", r.suffix, md.Name(), md.Name())
	r.f("var fc easyproto.FieldContext\nfor len(src) > 0 {")
	r.f("if src, err = fc.NextField(src); err != nil { return fmt.Errorf(\"cannot read next field in %s: %%w\", err) }", md.Name())
	r.f("switch fc.FieldNum {")
	for _, fd := range fieldsOf(md) {
		r.f("case %d:", fd.Number())
		switch value := "m." + goName(fd); shapeOf(fd) {
		case single:
			r.single(fd, value)
		case optional:
			r.optional(fd, value)
		case repeated:
			r.element(fd, value)
		case mapped:
			r.entry(fd, value)
		}
	}
	r.f("}\n}\nreturn nil\n}\n")
}

func (r *easyReader) single(fd protoreflect.FieldDescriptor, value string) {
	if isMessage(fd) {
		r.nested(fd, "fc", "&"+value)
		return
	}
	r.get(fd, "fc", "x", easyType(fd))
	if isBytes(fd) && !r.alias {
		r.f("%s = append(%s[:0], x...)", value, value)
	} else {
		r.f("%s = %s", value, r.owned(fd, "x"))
	}
}

func (r *easyReader) optional(fd protoreflect.FieldDescriptor, value string) {
	if isMessage(fd) {
		r.f("%s = new(plain.%s)", value, fd.Message().Name())
		r.nested(fd, "fc", value)
		return
	}
	r.get(fd, "fc", "x", easyType(fd))
	switch owned := r.owned(fd, "x"); {
	case isBytes(fd):
		r.f("%s = %s", value, owned)
	case isEnum(fd):
		r.f("y := %s\n%s = &y", owned, value)
	case owned != "x":
		r.f("x = %s\n%s = &x", owned, value)
	default:
		r.f("%s = &x", value)
	}
}

func (r *easyReader) element(fd protoreflect.FieldDescriptor, value string) {
	switch {
	case isMessage(fd):
		r.f("if n := len(%s); n < cap(%s) {", value, value)
		r.f("%s = %s[:n+1]\neasyReset%s(&%s[n])", value, value, fd.Message().Name(), value)
		r.f("} else { %s = append(%s, plain.%s{}) }", value, value, fd.Message().Name())
		r.nested(fd, "fc", "&"+value+"[len("+value+")-1]")
	case fd.IsPacked() && isEnum(fd):
		r.f("var ok bool\nlist := int32s(&%s)", value)
		r.f("if *list, ok = fc.UnpackInt32s(*list); !ok { return fmt.Errorf(\"cannot read %s\") }", fd.FullName())
	case fd.IsPacked():
		r.f("var ok bool")
		r.f("if %s, ok = fc.Unpack%ss(%s); !ok { return fmt.Errorf(\"cannot read %s\") }", value, easyType(fd), value, fd.FullName())
	default:
		r.get(fd, "fc", "x", easyType(fd))
		r.f("%s = append(%s, %s)", value, value, r.owned(fd, "x"))
	}
}

func (r *easyReader) entry(fd protoreflect.FieldDescriptor, value string) {
	key, elem := fd.MapKey(), fd.MapValue()
	r.get(fd, "fc", "data", "MessageData")
	r.f("var key %s\nvar value %s\nvar entry easyproto.FieldContext\nfor len(data) > 0 {", inPlain(key), inPlain(elem))
	r.f("if data, err = entry.NextField(data); err != nil { return fmt.Errorf(\"cannot read %s: %%w\", err) }", fd.FullName())
	r.f("switch entry.FieldNum {\ncase 1:")
	r.get(key, "entry", "x", easyType(key))
	r.f("key = %s\ncase 2:", r.owned(key, "x"))
	if isMessage(elem) {
		r.nested(elem, "entry", "&value")
	} else {
		r.get(elem, "entry", "x", easyType(elem))
		r.f("value = %s", r.owned(elem, "x"))
	}
	r.f("}\n}\nif %s == nil { %s = make(map[%s]%s) }\n%s[key] = value", value, value, inPlain(key), inPlain(elem), value)
}
