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
		hyperForm.write(out, md, "To", "Read", "Match")
	}
	for _, md := range s.roots {
		name := md.Name()
		out.f("func hyperForm%s(md protoreflect.MessageDescriptor) Form[plain.%s, hyperpb.Message] {", name, name)
		out.f("f := hyperFields%s(md, map[protoreflect.FullName]any{})", name)
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
		if part := partOf(fd); part != nil {
			out.f("in%s *hyper%s", goName(fd), part.Name())
		}
	}
	out.f("}\n")
	// A message may contain one of its own type, so what was looked up is kept.
	name := md.Name()
	out.f("func hyperFields%s(md protoreflect.MessageDescriptor, kept map[protoreflect.FullName]any) *hyper%s {", name, name)
	out.f("if f, ok := kept[md.FullName()].(*hyper%s); ok { return f }\nf := new(hyper%s)\nkept[md.FullName()] = f", name, name)
	for _, fd := range fieldsOf(md) {
		out.f("f.%s = md.Fields().ByNumber(%d)", goName(fd), fd.Number())
		if part := partOf(fd); part != nil {
			value := ""
			if fd.IsMap() {
				value = ".MapValue()"
			}
			out.f("f.in%s = hyperFields%s(f.%s%s.Message(), kept)", goName(fd), part.Name(), goName(fd), value)
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

// hyperValue is hyperGet, of a message too.
func hyperValue(fd protoreflect.FieldDescriptor, value string) string {
	if isMessage(fd) {
		return value + ".Message()"
	}
	return hyperGet(fd, value)
}

func hyperField(fd protoreflect.FieldDescriptor) string { return "v.Get(f." + goName(fd) + ")" }

var hyperForm = &form{
	head: func(verb string, md protoreflect.MessageDescriptor) string {
		return fmt.Sprintf("func (f *hyper%s) %s(v protoreflect.Message", md.Name(), strings.ToLower(verb))
	},
	call: func(verb string, fd protoreflect.FieldDescriptor) string {
		return fmt.Sprintf("f.in%s.%s", goName(fd), strings.ToLower(verb))
	},
	single: func(_ *walk, fd protoreflect.FieldDescriptor, use func(x string)) {
		use(hyperValue(fd, hyperField(fd)))
	},
	optional: func(_ *walk, fd protoreflect.FieldDescriptor, open func(has string), use func(x string)) {
		open("v.Has(f." + goName(fd) + ")")
		use(hyperValue(fd, hyperField(fd)))
	},
	list: func(c *walk, fd protoreflect.FieldDescriptor, open func(length string), use func(x string)) {
		c.f("{\nlist := %s.List()", hyperField(fd))
		open("list.Len()")
		c.f("for i := range list.Len() {")
		use(hyperValue(fd, "list.Get(i)"))
		c.f("}\n}")
	},
	entries: func(c *walk, fd protoreflect.FieldDescriptor, open func(length string), use func(k, x string)) {
		c.f("{\nall := %s.Map()", hyperField(fd))
		open("all.Len()")
		c.f("for k, x := range all.Range {")
		use(hyperGet(fd.MapKey(), "k"), hyperValue(fd.MapValue(), "x"))
		c.f("}\n}")
	},
}
