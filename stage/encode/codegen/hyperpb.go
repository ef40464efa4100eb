package codegen

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeHyperpb writes the code that reads hyperpb's messages. They have no generated Go type: their
// fields are read by descriptor, through protobuf's reflection interface. The descriptors are
// looked up once.
func writeHyperpb(s *schema, path string) error {
	out := newSource("bind", "bytes", "math", "buf.build/go/hyperpb", "google.golang.org/protobuf/reflect/protoreflect", s.module+"plain")
	for _, md := range s.messages {
		hyperFields(out, md)
		hyperTo(out, md)
		hyperRead(out, md)
		hyperMatch(out, md)
	}
	for _, md := range s.roots {
		name := md.Name()
		out.f("func hyperForm%s(md protoreflect.MessageDescriptor) Form[plain.%s, hyperpb.Message] {", name, name)
		out.f("f := hyperFields%s(md)", name)
		out.f("return Form[plain.%s, hyperpb.Message]{", name)
		out.f("To: func(v *hyperpb.Message, m *plain.%s) error { f.to(v, m); return nil },", name)
		out.f("Read: func(v *hyperpb.Message, _ *plain.%s) (uint64, error) { return f.read(v), nil },", name)
		out.f("Same: func(v *hyperpb.Message, m *plain.%s) (uint64, error) { return bit(f.match(v, m)), nil },", name)
		out.f("}\n}\n")
	}
	return out.save(path)
}

func hyperFields(out *source, md protoreflect.MessageDescriptor) {
	out.f("type hyper%s struct {", md.Name())
	for _, fd := range fieldsOf(md) {
		out.f("%s protoreflect.FieldDescriptor", goName(fd))
		if part := hyperPart(fd); part != nil {
			out.f("in%s *hyper%s", goName(fd), part.Name())
		}
	}
	out.f("}\n")
	switch {
	case reaches(md):
		hyperRecursive(out, md)
		return
	case md.Fields().Len() == 0:
		out.f("func hyperFields%s(protoreflect.MessageDescriptor) *hyper%s { return new(hyper%s) }\n", md.Name(), md.Name(), md.Name())
		return
	}
	out.f("func hyperFields%s(md protoreflect.MessageDescriptor) *hyper%s {", md.Name(), md.Name())
	out.f("fields := md.Fields()\nreturn &hyper%s{", md.Name())
	for _, fd := range fieldsOf(md) {
		out.f("%s: fields.ByNumber(%d),", goName(fd), fd.Number())
		if part := hyperPart(fd); part != nil {
			out.f("in%s: hyperFields%s(%s),", goName(fd), part.Name(), hyperMessage(fd))
		}
	}
	out.f("}\n}\n")
}

// hyperPart returns the message type of a field, nil if it has none.
func hyperPart(fd protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	return fd.Message()
}

// hyperMessage returns an expression for that type's descriptor.
func hyperMessage(fd protoreflect.FieldDescriptor) string {
	if fd.IsMap() {
		return fmt.Sprintf("fields.ByNumber(%d).MapValue().Message()", fd.Number())
	}
	return fmt.Sprintf("fields.ByNumber(%d).Message()", fd.Number())
}

// hyperRecursive writes hyperFieldsT for a message that can contain one of its own type: it keeps
// the descriptors that it has looked up.
func hyperRecursive(out *source, md protoreflect.MessageDescriptor) {
	name := md.Name()
	out.f("var hyperKept%s = map[protoreflect.MessageDescriptor]*hyper%s{}\n", name, name)
	out.f("func hyperFields%s(md protoreflect.MessageDescriptor) *hyper%s {", name, name)
	out.f("if f := hyperKept%s[md]; f != nil { return f }", name)
	out.f("fields := md.Fields()\nf := &hyper%s{", name)
	for _, fd := range fieldsOf(md) {
		out.f("%s: fields.ByNumber(%d),", goName(fd), fd.Number())
	}
	out.f("}\nhyperKept%s[md] = f", name)
	for _, fd := range fieldsOf(md) {
		if part := hyperPart(fd); part != nil {
			out.f("f.in%s = hyperFields%s(%s)", goName(fd), part.Name(), hyperMessage(fd))
		}
	}
	out.f("return f\n}\n")
}

// hyperGet returns an expression that takes a scalar, in its Go type, out of a protoreflect.Value.
func hyperGet(fd protoreflect.FieldDescriptor, value string) string {
	if isEnum(fd) {
		return value + ".Enum()"
	}
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
	kind := fd.Kind().String()
	return value + "." + strings.ToUpper(kind[:1]) + kind[1:] + "()"
}

func hyperTo(out *source, md protoreflect.MessageDescriptor) {
	out.f("func (f *hyper%s) to(v protoreflect.Message, m *plain.%s) {", md.Name(), md.Name())
	out.f("*m = plain.%s{}", md.Name())
	for _, fd := range fieldsOf(md) {
		name := goName(fd)
		get := "v.Get(f." + name + ")"
		convert := func(fd protoreflect.FieldDescriptor, value string) string {
			if isEnum(fd) {
				return "plain." + string(fd.Enum().Name()) + "(" + hyperGet(fd, value) + ")"
			}
			return hyperGet(fd, value)
		}
		switch kind := shapeOf(fd); {
		case kind == single && isMessage(fd):
			out.f("f.in%s.to(%s.Message(), &m.%s)", name, get, name)
		case kind == single:
			out.f("m.%s = %s", name, convert(fd, get))
		case kind == optional:
			out.f("if v.Has(f.%s) {", name)
			if isMessage(fd) {
				out.f("m.%s = new(plain.%s)\nf.in%s.to(%s.Message(), m.%s)", name, fd.Message().Name(), name, get, name)
			} else {
				if isBytes(fd) {
					out.f("m.%s = append([]byte{}, %s...)", name, convert(fd, get))
				} else {
					out.f("x := %s\nm.%s = &x", convert(fd, get), name)
				}
			}
			out.f("}")
		case kind == repeated:
			out.f("{\nlist := %s.List()\nm.%s = make(%s, list.Len())\nfor i := range m.%s {", get, name, strings.Replace(plainType(fd), plainElem(fd), inPlain(fd), 1), name)
			if isMessage(fd) {
				out.f("f.in%s.to(list.Get(i).Message(), &m.%s[i])", name, name)
			} else {
				out.f("m.%s[i] = %s", name, convert(fd, "list.Get(i)"))
			}
			out.f("}\n}")
		case kind == mapped:
			out.f("m.%s = make(map[%s]%s)", name, inPlain(fd.MapKey()), inPlain(fd.MapValue()))
			out.f("%s.Map().Range(func(k protoreflect.MapKey, x protoreflect.Value) bool {", get)
			if key, elem := hyperGet(fd.MapKey(), "k"), fd.MapValue(); isMessage(elem) {
				out.f("var y %s\nf.in%s.to(x.Message(), &y)\nm.%s[%s] = y\nreturn true\n})", inPlain(elem), name, name, key)
			} else {
				out.f("m.%s[%s] = %s\nreturn true\n})", name, key, convert(elem, "x"))
			}
		}
	}
	out.f("}\n")
}

// inPlain returns a plain type's name for use outside package plain.
func inPlain(fd protoreflect.FieldDescriptor) string {
	if isMessage(fd) || isEnum(fd) {
		return "plain." + plainElem(fd)
	}
	return plainElem(fd)
}

func hyperRead(out *source, md protoreflect.MessageDescriptor) {
	out.f("func (f *hyper%s) read(v protoreflect.Message) (sum uint64) {", md.Name())
	for _, fd := range fieldsOf(md) {
		name := goName(fd)
		get := "v.Get(f." + name + ")"
		elem := fd
		if fd.IsMap() {
			elem = fd.MapValue()
		}
		read := func(value string) string {
			if isMessage(elem) {
				return fmt.Sprintf("f.in%s.read(%s.Message())", name, value)
			}
			return readScalar(elem, hyperGet(elem, value))
		}
		switch shapeOf(fd) {
		case single:
			out.f("sum += %s", read(get))
		case optional:
			out.f("if v.Has(f.%s) { sum += 1 + %s }", name, read(get))
		case repeated:
			out.f("{\nlist := %s.List()\nfor i := range list.Len() { sum += 1 + %s }\n}", get, read("list.Get(i)"))
		case mapped:
			out.f("%s.Map().Range(func(k protoreflect.MapKey, x protoreflect.Value) bool {", get)
			out.f("sum += 1 + %s + %s\nreturn true\n})", readScalar(fd.MapKey(), hyperGet(fd.MapKey(), "k")), read("x"))
		}
	}
	out.f("return sum\n}\n")
}

func hyperMatch(out *source, md protoreflect.MessageDescriptor) {
	out.f("func (f *hyper%s) match(v protoreflect.Message, m *plain.%s) bool {", md.Name(), md.Name())
	for _, fd := range fieldsOf(md) {
		name := goName(fd)
		get, want := "v.Get(f."+name+")", "m."+name
		differ := func(value, want string) string {
			if isMessage(fd) {
				return fmt.Sprintf("!f.in%s.match(%s.Message(), %s)", name, value, want)
			}
			return fmt.Sprintf("!(%s)", sameScalar(fd, hyperGet(fd, value), want))
		}
		sameElem := func(elem protoreflect.FieldDescriptor) string {
			if isMessage(elem) {
				return fmt.Sprintf("f.in%s.match(x.Message(), &y)", name)
			}
			return sameScalar(elem, hyperGet(elem, "x"), "y")
		}
		address := func(value string) string {
			if isMessage(fd) {
				return "&" + value
			}
			return value
		}
		switch shapeOf(fd) {
		case single:
			out.f("if %s { return false }", differ(get, address(want)))
		case optional:
			out.f("if v.Has(f.%s) != (%s != nil) { return false }", name, want)
			value := deref(fd, want)
			if isMessage(fd) {
				value = want
			}
			out.f("if %s != nil && %s { return false }", want, differ(get, value))
		case repeated:
			out.f("{\nlist := %s.List()\nif list.Len() != len(%s) { return false }", get, want)
			out.f("for i := range %s { if %s { return false } }\n}", want, differ("list.Get(i)", address(want+"[i]")))
		case mapped:
			out.f("{\nall := %s.Map()\nif all.Len() != len(%s) { return false }\nsame := true", get, want)
			out.f("all.Range(func(k protoreflect.MapKey, x protoreflect.Value) bool {")
			out.f("y, ok := %s[%s]\nsame = ok && %s\nreturn same\n})", want, hyperGet(fd.MapKey(), "k"), sameElem(fd.MapValue()))
			out.f("if !same { return false }\n}")
		}
	}
	out.f("return true\n}\n")
}
