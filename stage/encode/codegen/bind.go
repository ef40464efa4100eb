package codegen

import (
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A structForm is a form whose messages are Go structs with exported fields. Most generators make
// such structs.
type structForm struct {
	pkg      string // "pb"
	pointers bool   // messages inside messages are pointers
	wrapped  bool   // optional scalars are messages of their own
}

var structForms = []structForm{
	{pkg: "plain"},
	{pkg: "pb", pointers: true},
	{pkg: "pbhook", pointers: true},
	{pkg: "pbpool", pointers: true},
	{pkg: "polymsg", pointers: true, wrapped: true},
}

// writeBindings writes package bind, except for its hand-written files.
func writeBindings(s *schema, internal string) error {
	dir := filepath.Join(internal, "bind")
	if err := clear(dir, "*_gen.go"); err != nil {
		return err
	}
	for _, form := range structForms {
		if err := form.write(s, filepath.Join(dir, form.pkg+"_gen.go")); err != nil {
			return err
		}
	}
	for _, form := range []struct {
		file  string
		write func(*schema, string) error
	}{
		{"easyproto_gen.go", writeEasyproto},
		{"hyperpb_gen.go", writeHyperpb},
		{"mus_gen.go", writeMus},
		{"capnmsg_gen.go", writeCapnpBinding},
		{"flatmsg_gen.go", writeFlatbuffersBinding},
	} {
		if err := form.write(s, filepath.Join(dir, form.file)); err != nil {
			return err
		}
	}
	return writeKits(s, filepath.Join(dir, "kits_gen.go"))
}

// write writes fromT (except for plain), toT, readT and matchT for every message T. For the roots
// it also writes ReadT and MatchT, which have the signatures of bind.Form.
func (form structForm) write(s *schema, path string) error {
	imports := []string{"bytes", "math", s.module + "plain"}
	if form.pkg != "plain" {
		imports = append(imports, s.module+form.pkg)
	}
	out := newSource("bind", imports...)
	for _, md := range s.messages {
		if form.pkg != "plain" {
			form.writeFrom(out, md)
			form.walks().write(out, md, "To")
		}
		form.walks().write(out, md, "Read", "Match")
	}
	for _, md := range s.roots {
		name := md.Name()
		out.f("func %s(v *%s.%s, _ *plain.%s) (uint64, error) { return %s(v), nil }\n", form.fn("use", name), form.pkg, name, name, form.fn("read", name))
		out.f("func %s(v *%s.%s, m *plain.%s) (uint64, error) { return bit(%s(v, m)), nil }\n", form.fn("same", name), form.pkg, name, name, form.fn("match", name))
	}
	return out.save(path)
}

// fn returns the name of one of the form's functions: pbReadOrder.
func (form structForm) fn(verb string, message protoreflect.Name) string {
	return form.pkg + camel(verb) + string(message)
}

// typeOf returns the field's message type in the form.
func (form structForm) typeOf(fd protoreflect.FieldDescriptor) string {
	return form.pkg + "." + string(fd.Message().Name())
}

// wrapper returns the type that stands for an optional scalar in a wrapped form.
func (form structForm) wrapper(fd protoreflect.FieldDescriptor) string {
	return form.pkg + ".Optional" + optionalName(fd)
}

// optionalName tells the wrappers of different kinds of values apart.
func optionalName(fd protoreflect.FieldDescriptor) string {
	switch {
	case isEnum(fd):
		return string(fd.Enum().Name())
	case isBytes(fd):
		return "Bytes"
	}
	return camel(goScalar(fd))
}

// oneof returns the field of the oneof that contains fd, and the type that holds fd there. It
// returns "" if the form has no oneofs or fd is not in one.
func (form structForm) oneof(fd protoreflect.FieldDescriptor) (field, holder string) {
	of := realOneof(fd)
	if of == nil || !form.pointers || form.wrapped {
		return "", ""
	}
	return camel(string(of.Name())), fmt.Sprintf("%s.%s_%s", form.pkg, fd.Parent().Name(), goName(fd))
}

// from returns an expression of the form's type for one plain value.
func (form structForm) from(fd protoreflect.FieldDescriptor, value string) string {
	switch {
	case isMessage(fd):
		return form.fn("from", fd.Message().Name()) + "(" + pointer(value) + ")"
	case isEnum(fd):
		return fmt.Sprintf("%s.%s(%s)", form.pkg, fd.Enum().Name(), value)
	}
	return value
}

// pointer returns an expression for the address of at.
func pointer(at string) string {
	if rest, ok := strings.CutPrefix(at, "(*"); ok {
		return strings.TrimSuffix(rest, ")")
	}
	return "&" + at
}

// elem returns the form's type of one value.
func (form structForm) elem(fd protoreflect.FieldDescriptor) string {
	switch {
	case isMessage(fd):
		return "*" + form.typeOf(fd)
	case isEnum(fd):
		return form.pkg + "." + string(fd.Enum().Name())
	}
	return goScalar(fd)
}

func (form structForm) writeFrom(out *source, md protoreflect.MessageDescriptor) {
	out.f("func %s(m *plain.%s) *%s.%s {", form.fn("from", md.Name()), md.Name(), form.pkg, md.Name())
	out.f("v := new(%s.%s)", form.pkg, md.Name())
	for _, fd := range fieldsOf(md) {
		name := goName(fd)
		oneof, holder := form.oneof(fd)
		switch kind := shapeOf(fd); {
		case oneof != "":
			value := form.from(fd, deref(fd, "m."+name))
			if isMessage(fd) {
				value = form.from(fd, "(*m."+name+")")
			}
			out.f("if m.%s != nil { v.%s = &%s{%s: %s} }", name, oneof, holder, name, value)
		case kind == single && isMessage(fd):
			out.f("v.%s = %s(&m.%s)", name, form.fn("from", fd.Message().Name()), name)
		case kind == single && isEnum(fd):
			out.f("v.%s = %s.%s(m.%s)", name, form.pkg, fd.Enum().Name(), name)
		case kind == optional && isMessage(fd):
			out.f("if m.%s != nil { v.%s = %s(m.%s) }", name, name, form.fn("from", fd.Message().Name()), name)
		case kind == optional && form.wrapped:
			out.f("if m.%s != nil { v.%s = &%s{Value: %s} }", name, name, form.wrapper(fd), form.from(fd, deref(fd, "m."+name)))
		case kind == optional && isEnum(fd):
			out.f("if m.%s != nil { v.%s = %s.Enum() }", name, name, form.from(fd, "*m."+name))
		case kind == repeated && isMessage(fd):
			out.f("v.%s = make([]*%s, len(m.%s))", name, form.typeOf(fd), name)
			out.f("for i := range m.%s { v.%s[i] = %s(&m.%s[i]) }", name, name, form.fn("from", fd.Message().Name()), name)
		case kind == repeated && isEnum(fd):
			out.f("v.%s = make([]%s, len(m.%s))", name, form.elem(fd), name)
			out.f("for i, x := range m.%s { v.%s[i] = %s }", name, name, form.from(fd, "x"))
		case kind == mapped && form.converts(fd.MapValue()):
			out.f("v.%s = make(map[%s]%s, len(m.%s))", name, goScalar(fd.MapKey()), form.elem(fd.MapValue()), name)
			out.f("for k, x := range m.%s { v.%s[k] = %s }", name, name, form.from(fd.MapValue(), "x"))
		default:
			out.f("v.%s = m.%s", name, name)
		}
	}
	out.f("return v\n}\n")
}

// converts reports whether the form's type of a value differs from the plain one.
func (form structForm) converts(fd protoreflect.FieldDescriptor) bool {
	return isMessage(fd) || isEnum(fd)
}

// walks are the form's functions over all fields.
func (sf structForm) walks() *form {
	// part is an expression for a message in place of the form's type.
	part := func(fd protoreflect.FieldDescriptor, x string) string {
		if isMessage(fd) && !sf.pointers {
			return "&" + x
		}
		return x
	}
	return byPrefix(&form{
		begin: func(c *walk, md protoreflect.MessageDescriptor) {
			if !sf.pointers {
				return
			}
			missing := map[string]string{"To": "return", "Read": "return 0"}[c.verb]
			if c.verb == "Match" {
				missing = fmt.Sprintf("v = new(%s.%s)", sf.pkg, md.Name())
			}
			c.f("if v == nil { %s }", missing)
		},
		single: func(_ *walk, fd protoreflect.FieldDescriptor, use func(x string)) {
			use(part(fd, "v."+goName(fd)))
		},
		optional: func(c *walk, fd protoreflect.FieldDescriptor, open func(has string), use func(x string)) {
			x := "v." + goName(fd)
			if oneof, holder := sf.oneof(fd); oneof != "" {
				c.f("{\no, ok := v.%s.(*%s)", oneof, holder)
				open("ok")
				use("o." + goName(fd))
				c.f("}")
				return
			}
			open(x + " != nil")
			switch {
			case isMessage(fd):
				use(x)
			case sf.wrapped:
				use(x + ".Value")
			default:
				use(deref(fd, x))
			}
		},
		list: func(c *walk, fd protoreflect.FieldDescriptor, open func(length string), use func(x string)) {
			c.f("{\nlist := v.%s", goName(fd))
			open("len(list)")
			c.f("for i := range list {")
			use(part(fd, "list[i]"))
			c.f("}\n}")
		},
		entries: func(c *walk, fd protoreflect.FieldDescriptor, open func(length string), use func(k, x string)) {
			open("len(v." + goName(fd) + ")")
			c.f("for k, x := range v.%s {", goName(fd))
			use("k", part(fd.MapValue(), "x"))
			c.f("}")
		},
	}, sf.pkg, "*"+sf.pkg+".")
}
