package gen

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A sizer writes the functions that compute sizes.
type sizer struct{ *generator }

func (g sizer) size(msg *message) {
	g.f("func (m *%s) pbfastSize() (n int) {", msg.name())
	g.f("if m == nil { return 0 }")
	for k, f := range msg.ordered {
		if !f.inOneof() {
			g.sizeField(f)
			continue
		}
		if k == 0 || msg.ordered[k-1].Oneof != f.Oneof {
			g.f("switch v := %s.(type) {", f.oneofRef())
		}
		g.f("case *%s:\nif v != nil {", g.QualifiedGoIdent(f.wrapper()))
		g.sizeTagged(f, "v."+f.GoName)
		g.f("}")
		if k+1 == len(msg.ordered) || msg.ordered[k+1].Oneof != f.Oneof {
			g.f("}")
		}
	}
	g.f("return n + len(m.unknownFields)\n}\n")
}

func tagSize(f *field) int { return protowire.SizeTag(f.number()) }

// sizeTagged adds the size of one value with its tag, or a group's two.
func (g sizer) sizeTagged(f *field, value string) {
	tags := tagSize(f)
	if f.kind() == protoreflect.GroupKind {
		tags *= 2
	}
	g.f("n += %d + %s", tags, g.sizeValue(f, value))
}

// sizeValue is the size of one value without its tag.
func (g sizer) sizeValue(f *field, value string) string {
	switch {
	case f.code.constant():
		return fmt.Sprint(f.code.most)
	case f.code.isNumber():
		return g.e("$SizeVarint(%s)", g.e(f.code.word, value))
	case f.text():
		return g.e("$SizeBytes(len(%s))", value)
	}
	size := value + ".pbfastSize()"
	if g.model.local(f) == nil {
		size = g.foreign.variable(f) + ".Size(" + value + ")"
	}
	if f.kind() == protoreflect.GroupKind {
		return size
	}
	return g.e("$SizeBytes(%s)", size)
}

// present is the condition under which a field that is no list, map or part of a oneof is encoded,
// and its value then.
func present(s *source, f *field) (condition, value string) {
	value = f.ref()
	if f.pointer() {
		value = "*" + value
	}
	switch {
	case f.bit():
		index, _ := bitOf(f)
		return s.e("$impl.X.Present(&m.XXX_presence[%d], %d)", index/32, index), value
	case f.pointer(), f.isMessage(), f.kind() == protoreflect.BytesKind && f.Desc.HasPresence():
		return f.ref() + " != nil", value
	case f.text():
		return "len(" + value + ") > 0", value
	case f.kind() == protoreflect.BoolKind:
		return value, value
	case f.kind() == protoreflect.FloatKind, f.kind() == protoreflect.DoubleKind: // -0 is encoded
		return s.e(f.code.word, value) + " != 0", value
	}
	return value + " != 0", value
}

func (g sizer) sizeField(f *field) {
	name := f.ref()
	switch {
	case f.isMap():
		g.sizeMap(f)
	case f.packable():
		elements := g.e("$Size%s(%s)", f.code.packed, name)
		if f.code.constant() {
			elements = fmt.Sprintf("%d*len(%s)", f.code.most, name)
		}
		g.f("if len(%s) > 0 {", name)
		if f.Desc.IsPacked() {
			g.f("n += %d + $SizeBytes(%s)", tagSize(f), elements)
		} else {
			g.f("n += %d*len(%s) + %s", tagSize(f), name, elements)
		}
		g.f("}")
	case f.list():
		end := ifBoxed(g.source, f)
		g.f("for _, v := range %s {", elements(f))
		g.sizeTagged(f, "v")
		g.f("}%s", end)
	default:
		g.sizeSingle(f)
	}
}

func (g sizer) sizeMap(f *field) {
	key, value := f.entry()
	entry := g.e("%d + $SizeBytes(2 + %s + %s)", tagSize(f), g.sizeValue(key, "k"), g.sizeValue(value, "v"))
	k, v := "k", "v"
	if key.code.constant() {
		k = "_"
	}
	if value.code.constant() {
		v = "_"
	}
	if k == v {
		g.f("n += len(%s) * (%s)", f.ref(), entry)
		return
	}
	g.f("for %s, %s := range %s {\nn += %s\n}", k, v, f.ref(), entry)
}

// sizeSingle adds the size of a field that is no list, map or part of a oneof.
func (g sizer) sizeSingle(f *field) {
	condition, value := present(g.source, f)
	switch {
	case f.Desc.HasPresence():
		g.f("if %s {", condition)
		g.sizeTagged(f, value)
		g.f("}")
	case f.text():
		g.f("n += $SizeSome(%d, len(%s))", tagSize(f), value)
	case f.code.constant():
		g.f("n += $SizeIf(%s, %d)", condition, tagSize(f)+f.code.most)
	default:
		g.f("n += $SizeNumber(%d, %s)", tagSize(f), g.e(f.code.word, value))
	}
}
