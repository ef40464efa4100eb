package codegen

import (
	"fmt"
	"path/filepath"

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
	if err := writeDiff(s, filepath.Join(dir, "diff_gen.go")); err != nil {
		return err
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
			form.writeTo(out, md)
		}
		form.writeRead(out, md)
		form.writeMatch(out, md)
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

func (form structForm) writeTo(out *source, md protoreflect.MessageDescriptor) {
	out.f("func %s(v *%s.%s, m *plain.%s) {", form.fn("to", md.Name()), form.pkg, md.Name(), md.Name())
	out.f("*m = plain.%s{}", md.Name())
	out.f("if v == nil { return }")
	for _, fd := range fieldsOf(md) {
		name := goName(fd)
		// hold makes an optional field for a value that is present.
		hold := func(value string) string {
			switch {
			case isMessage(fd):
				return fmt.Sprintf("m.%s = new(plain.%s); %s(%s, m.%s)", name, fd.Message().Name(), form.fn("to", fd.Message().Name()), value, name)
			case isEnum(fd):
				return fmt.Sprintf("x := plain.%s(%s); m.%s = &x", fd.Enum().Name(), value, name)
			case isBytes(fd):
				return fmt.Sprintf("m.%s = %s", name, value)
			}
			return fmt.Sprintf("m.%s = &%s", name, value)
		}
		oneof, holder := form.oneof(fd)
		switch kind := shapeOf(fd); {
		case oneof != "":
			out.f("if o, ok := v.%s.(*%s); ok { %s }", oneof, holder, hold("o."+name))
		case kind == single && isMessage(fd):
			out.f("%s(v.%s, &m.%s)", form.fn("to", fd.Message().Name()), name, name)
		case kind == single && isEnum(fd):
			out.f("m.%s = plain.%s(v.%s)", name, fd.Enum().Name(), name)
		case kind == optional && isMessage(fd):
			out.f("if v.%s != nil { %s }", name, hold("v."+name))
		case kind == optional && form.wrapped:
			out.f("if v.%s != nil { %s }", name, hold("v."+name+".Value"))
		case kind == optional && isEnum(fd):
			out.f("if v.%s != nil { %s }", name, hold("*v."+name))
		case kind == repeated && isMessage(fd):
			out.f("m.%s = make([]plain.%s, len(v.%s))", name, fd.Message().Name(), name)
			out.f("for i := range v.%s { %s(v.%s[i], &m.%s[i]) }", name, form.fn("to", fd.Message().Name()), name, name)
		case kind == repeated && isEnum(fd):
			out.f("m.%s = make([]%s, len(v.%s))", name, inPlain(fd), name)
			out.f("for i, x := range v.%s { m.%s[i] = %s(x) }", name, name, inPlain(fd))
		case kind == mapped && form.converts(fd.MapValue()):
			out.f("m.%s = make(map[%s]%s, len(v.%s))", name, goScalar(fd.MapKey()), inPlain(fd.MapValue()), name)
			if isMessage(fd.MapValue()) {
				out.f("for k, x := range v.%s { var y %s; %s(x, &y); m.%s[k] = y }", name, inPlain(fd.MapValue()), form.fn("to", fd.MapValue().Message().Name()), name)
			} else {
				out.f("for k, x := range v.%s { m.%s[k] = %s(x) }", name, name, inPlain(fd.MapValue()))
			}
		default:
			out.f("m.%s = v.%s", name, name)
		}
	}
	out.f("}\n")
}

// readScalar returns an expression that reads a value, other than a message, as uint64.
func readScalar(fd protoreflect.FieldDescriptor, value string) string {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "bit(" + value + ")"
	case protoreflect.FloatKind:
		return "uint64(math.Float32bits(" + value + "))"
	case protoreflect.DoubleKind:
		return "math.Float64bits(" + value + ")"
	case protoreflect.StringKind:
		return "Text(" + value + ")"
	case protoreflect.BytesKind:
		return "Text(" + value + ")"
	}
	return "uint64(" + value + ")"
}

func (form structForm) writeRead(out *source, md protoreflect.MessageDescriptor) {
	out.f("func %s(v *%s.%s) (sum uint64) {", form.fn("read", md.Name()), form.pkg, md.Name())
	if form.pointers {
		out.f("if v == nil { return 0 }")
	}
	for _, fd := range fieldsOf(md) {
		name := goName(fd)
		elem := fd
		if fd.IsMap() {
			elem = fd.MapValue()
		}
		read := func(value string) string {
			if !isMessage(elem) {
				return readScalar(elem, value)
			}
			if !form.pointers && shapeOf(fd) != optional {
				value = "&" + value
			}
			return form.fn("read", elem.Message().Name()) + "(" + value + ")"
		}
		switch shapeOf(fd) {
		case single:
			out.f("sum += %s", read("v."+name))
		case optional:
			oneof, holder := form.oneof(fd)
			switch {
			case oneof != "":
				out.f("if o, ok := v.%s.(*%s); ok { sum += 1 + %s }", oneof, holder, read("o."+name))
			case isMessage(fd):
				out.f("if v.%s != nil { sum += 1 + %s }", name, read("v."+name))
			case form.wrapped:
				out.f("if v.%s != nil { sum += 1 + %s }", name, read("v."+name+".Value"))
			default:
				out.f("if v.%s != nil { sum += 1 + %s }", name, read(deref(fd, "v."+name)))
			}
		case repeated:
			if isMessage(fd) {
				out.f("for i := range v.%s { sum += 1 + %s }", name, read("v."+name+"[i]"))
			} else {
				out.f("for _, x := range v.%s { sum += 1 + %s }", name, read("x"))
			}
		case mapped:
			out.f("for k, x := range v.%s { sum += 1 + %s + %s }", name, readScalar(fd.MapKey(), "k"), read("x"))
		}
	}
	out.f("return sum\n}\n")
}

// sameScalar returns an expression that compares two values that are not messages.
func sameScalar(fd protoreflect.FieldDescriptor, a, b string) string {
	switch fd.Kind() {
	case protoreflect.FloatKind:
		return fmt.Sprintf("sameFloat(%s, %s)", a, b)
	case protoreflect.DoubleKind:
		return fmt.Sprintf("sameDouble(%s, %s)", a, b)
	case protoreflect.BytesKind:
		return fmt.Sprintf("bytes.Equal(%s, %s)", a, b)
	case protoreflect.EnumKind:
		return fmt.Sprintf("int32(%s) == int32(%s)", a, b)
	}
	return fmt.Sprintf("%s == %s", a, b)
}

func (form structForm) writeMatch(out *source, md protoreflect.MessageDescriptor) {
	out.f("func %s(v *%s.%s, m *plain.%s) bool {", form.fn("match", md.Name()), form.pkg, md.Name(), md.Name())
	if form.pointers {
		out.f("if v == nil { v = new(%s.%s) }", form.pkg, md.Name())
	}
	for _, fd := range fieldsOf(md) {
		name := goName(fd)
		a, b := "v."+name, "m."+name
		nested := func(a, b string) string {
			if !form.pointers {
				a = "&" + a
			}
			return fmt.Sprintf("%s(%s, &%s)", form.fn("match", fd.Message().Name()), a, b)
		}
		switch kind := shapeOf(fd); {
		case kind == single && isMessage(fd):
			out.f("if !%s { return false }", nested(a, b))
		case kind == single:
			out.f("if !(%s) { return false }", sameScalar(fd, a, b))
		case kind == optional && realOneof(fd) != nil && form.pointers && !form.wrapped:
			oneof, holder := form.oneof(fd)
			same := sameScalar(fd, "o."+name, deref(fd, b))
			if isMessage(fd) {
				same = fmt.Sprintf("%s(o.%s, %s)", form.fn("match", fd.Message().Name()), name, b)
			}
			out.f("if o, ok := v.%s.(*%s); ok != (%s != nil) || ok && !(%s) { return false }", oneof, holder, b, same)
		case kind == optional:
			out.f("if (%s == nil) != (%s == nil) { return false }", a, b)
			switch {
			case isMessage(fd):
				out.f("if %s != nil && !%s(%s, %s) { return false }", a, form.fn("match", fd.Message().Name()), a, b)
			case form.wrapped:
				out.f("if %s != nil && !(%s) { return false }", a, sameScalar(fd, a+".Value", deref(fd, b)))
			default:
				out.f("if %s != nil && !(%s) { return false }", a, sameScalar(fd, deref(fd, a), deref(fd, b)))
			}
		case kind == repeated:
			out.f("if len(%s) != len(%s) { return false }", a, b)
			if isMessage(fd) {
				out.f("for i := range %s { if !%s { return false } }", a, nested(a+"[i]", b+"[i]"))
			} else {
				out.f("for i, x := range %s { if !(%s) { return false } }", a, sameScalar(fd, "x", b+"[i]"))
			}
		case kind == mapped:
			out.f("if len(%s) != len(%s) { return false }", a, b)
			out.f("for k, x := range %s { if y, ok := %s[k]; !ok || !(%s) { return false } }", a, b, form.sameElem(fd.MapValue(), "x", "y"))
		}
	}
	out.f("return true\n}\n")
}

// sameElem is like sameScalar, for a map's values, which may be messages.
func (form structForm) sameElem(fd protoreflect.FieldDescriptor, x, y string) string {
	if !isMessage(fd) {
		return sameScalar(fd, x, y)
	}
	if !form.pointers {
		x = "&" + x
	}
	return fmt.Sprintf("%s(%s, &%s)", form.fn("match", fd.Message().Name()), x, y)
}

// writeDiff writes diffT for every message T. It names the first field in which two plain structs
// differ.
func writeDiff(s *schema, path string) error {
	out := newSource("bind", "bytes", "fmt", s.module+"plain")
	for _, md := range s.messages {
		out.f("func diff%s(at string, a, b *plain.%s) string {", md.Name(), md.Name())
		for _, fd := range fieldsOf(md) {
			name := goName(fd)
			a, b := "a."+name, "b."+name
			at := fmt.Sprintf(`at + ".%s"`, name)
			nested := func(at, a, b string) {
				out.f("if d := diff%s(%s, %s, %s); d != \"\" { return d }", fd.Message().Name(), at, a, b)
			}
			differ := func(fd protoreflect.FieldDescriptor, at, a, b string) {
				out.f("if !(%s) { return differ(%s, %s, %s) }", sameScalar(fd, a, b), at, a, b)
			}
			switch kind := shapeOf(fd); {
			case kind == single && isMessage(fd):
				nested(at, "&"+a, "&"+b)
			case kind == single:
				differ(fd, at, a, b)
			case kind == optional:
				out.f("if (%s == nil) != (%s == nil) { return differ(%s, %s, %s) }", a, b, at, "presence("+a+" != nil)", "presence("+b+" != nil)")
				out.f("if %s != nil {", a)
				if isMessage(fd) {
					nested(at, a, b)
				} else {
					differ(fd, at, deref(fd, a), deref(fd, b))
				}
				out.f("}")
			case kind == repeated:
				out.f("if len(%s) != len(%s) { return differ(%s, count(len(%s)), count(len(%s))) }", a, b, at, a, b)
				out.f("for i := range %s {", a)
				index := fmt.Sprintf(`fmt.Sprintf("%%s.%s[%%d]", at, i)`, name)
				if isMessage(fd) {
					out.f("if !%s(&%s[i], &%s[i]) {", structForm{pkg: "plain"}.fn("match", fd.Message().Name()), a, b)
					nested(index, "&"+a+"[i]", "&"+b+"[i]")
					out.f("}")
				} else {
					differ(fd, index, a+"[i]", b+"[i]")
				}
				out.f("}")
			case kind == mapped:
				out.f("if len(%s) != len(%s) { return differ(%s, count(len(%s)), count(len(%s))) }", a, b, at, a, b)
				out.f("for k, y := range %s {", b)
				index := fmt.Sprintf(`fmt.Sprintf("%%s.%s[%%v]", at, k)`, name)
				out.f("x, ok := %s[k]", a)
				out.f("if !ok { return differ(%s, presence(false), presence(true)) }", index)
				if elem := fd.MapValue(); isMessage(elem) {
					out.f("if d := diff%s(%s, &x, &y); d != \"\" { return d }", elem.Message().Name(), index)
				} else {
					differ(elem, index, "x", "y")
				}
				out.f("}")
			}
		}
		out.f("return \"\"\n}\n")
	}
	for _, md := range s.roots {
		out.f("func Diff%s(got, want *plain.%s) string { return diff%s(\"%s\", got, want) }\n", md.Name(), md.Name(), md.Name(), md.Name())
	}
	return out.save(path)
}
