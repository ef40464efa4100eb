package gen

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func (g *generator) size(msg *message) {
	g.f("func (m *%s) SizeOf() (n int) {", msg.GoIdent.GoName)
	g.f("if m == nil { return 0 }")
	if msg.ext {
		g.f("if len(m.extensionFields) > 0 { return %s(m) }", g.rt("FallbackSize"))
	}
	for k, f := range msg.ordered {
		if !f.inOneof() {
			g.sizeField(f)
			continue
		}
		if k == 0 || msg.ordered[k-1].Oneof != f.Oneof {
			g.f("switch v := %s.(type) {", f.oneofRef())
		}
		g.f("case *%s:\nif v != nil {", g.QualifiedGoIdent(f.wrapper()))
		g.sizeValue(f, "v."+f.GoName)
		g.f("}")
		if k+1 == len(msg.ordered) || msg.ordered[k+1].Oneof != f.Oneof {
			g.f("}")
		}
	}
	g.f("return n + len(m.unknownFields)\n}\n")
}

func tagSize(f *field) int { return protowire.SizeTag(f.number()) }

// sizeValue adds the size of one value with its tag.
func (g *generator) sizeValue(f *field, value string) {
	tag := tagSize(f)
	switch {
	case f.kind == protoreflect.GroupKind:
		g.f("n += %d + %s", 2*tag, g.messageSize(f, value))
	case f.isMessage():
		g.f("n += %d + %s(%s)", tag, g.rt("SizeBytes"), g.messageSize(f, value))
	case f.text():
		g.f("n += %d + %s(len(%s))", tag, g.rt("SizeBytes"), value)
	default:
		g.f("n += %d + %s", tag, g.scalarSize(f, value))
	}
}

func (g *generator) messageSize(f *field, value string) string {
	if g.model.local(f) != nil {
		return value + ".SizeOf()"
	}
	return g.rt("ForeignSize") + "(" + value + ")"
}

// scalarSize is the size of a number without its tag.
func (g *generator) scalarSize(f *field, value string) string {
	switch wireOf(f.kind) {
	case protowire.Fixed32Type:
		return "4"
	case protowire.Fixed64Type:
		return "8"
	}
	if f.kind == protoreflect.BoolKind {
		return "1"
	}
	return g.rt("SizeVarint") + "(" + g.varint(f, value) + ")"
}

// varint is a number as the varint that stands for it.
func (g *generator) varint(f *field, value string) string {
	switch f.kind {
	case protoreflect.Uint64Kind:
		return value
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return g.rt("ZigZag") + "(int64(" + value + "))"
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		return "uint64(int64(" + value + "))"
	case protoreflect.BoolKind:
		return "uint64(" + g.rt("Bit") + "(" + value + "))"
	}
	return "uint64(" + value + ")"
}

// present is the condition under which a field that is no list, map or part of a oneof is encoded,
// and its value then.
func (g *generator) present(f *field) (condition, value string) {
	value = f.ref()
	switch {
	case f.bit() && f.pointer():
		return g.isPresent(f), "*" + value
	case f.bit():
		return g.isPresent(f), value
	case f.pointer():
		return value + " != nil", "*" + value
	case f.isMessage(), f.kind == protoreflect.BytesKind && f.Desc.HasPresence():
		return value + " != nil", value
	case f.text():
		return "len(" + value + ") > 0", value
	case f.kind == protoreflect.BoolKind:
		return value, value
	case f.kind == protoreflect.FloatKind: // -0 is encoded
		return g.QualifiedGoIdent(mathPkg.Ident("Float32bits")) + "(" + value + ") != 0", value
	case f.kind == protoreflect.DoubleKind:
		return g.QualifiedGoIdent(mathPkg.Ident("Float64bits")) + "(" + value + ") != 0", value
	}
	return value + " != 0", value
}

func (g *generator) sizeField(f *field) {
	name := f.ref()
	switch {
	case f.isMap():
		key, value := newField(f.Message.Fields[0]), newField(f.Message.Fields[1])
		k, v := "k", "v"
		if constantSize(key) {
			k = "_"
		}
		if constantSize(value) {
			v = "_"
		}
		if k == "_" && v == "_" {
			g.f("n += len(%s) * (%d + %s(2 + %s + %s))", name, tagSize(f), g.rt("SizeBytes"), g.scalarSize(key, "k"), g.scalarSize(value, "v"))
			return
		}
		g.f("for %s, %s := range %s {", k, v, name)
		g.f("n += %d + %s(2 + %s + %s)\n}", tagSize(f), g.rt("SizeBytes"), g.entrySize(key, "k"), g.entrySize(value, "v"))
	case f.list() && f.packable():
		g.f("if len(%s) > 0 {", name)
		if f.Desc.IsPacked() {
			g.f("n += %d + %s(%s)", tagSize(f), g.rt("SizeBytes"), g.elementsSize(f, name))
		} else {
			g.f("n += %d*len(%s) + %s", tagSize(f), name, g.elementsSize(f, name))
		}
		g.f("}")
	case f.list():
		end := g.ifBoxed(f)
		g.f("for _, v := range %s {", f.elements())
		g.sizeValue(f, "v")
		g.f("}%s", end)
	default:
		g.sizeSingle(f)
	}
}

// sizeSingle adds the size of a field that is no list, map or part of a oneof.
func (g *generator) sizeSingle(f *field) {
	condition, value := g.present(f)
	if f.Desc.HasPresence() {
		g.f("if %s {", condition)
		g.sizeValue(f, value)
		g.f("}")
		return
	}
	switch {
	case f.text():
		g.f("n += %s(%d, len(%s))", g.rt("SizeSome"), tagSize(f), value)
	case constantSize(f):
		g.f("n += %s(%s, %d + %s)", g.rt("SizeIf"), condition, tagSize(f), g.scalarSize(f, value))
	default:
		g.f("n += %s(%d, %s)", g.rt("SizeNumber"), tagSize(f), g.varint(f, value))
	}
}

func constantSize(f *field) bool {
	return wireOf(f.kind) != protowire.VarintType && !f.text() && !f.isMessage() || f.kind == protoreflect.BoolKind
}

// entrySize is the size of a map's key or value without its tag.
func (g *generator) entrySize(f *field, value string) string {
	if f.text() {
		return g.rt("SizeBytes") + "(len(" + value + "))"
	}
	if f.isMessage() {
		return g.rt("SizeBytes") + "(" + g.messageSize(f, value) + ")"
	}
	return g.scalarSize(f, value)
}

// elementsSize is the size of a list of numbers without tags.
func (g *generator) elementsSize(f *field, list string) string {
	switch wireOf(f.kind) {
	case protowire.Fixed32Type:
		return "4 * len(" + list + ")"
	case protowire.Fixed64Type:
		return "8 * len(" + list + ")"
	}
	switch f.kind {
	case protoreflect.BoolKind:
		return "len(" + list + ")"
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return g.rt("SizeZigZags") + "(" + list + ")"
	}
	return g.rt("SizeVarints") + "(" + list + ")"
}
