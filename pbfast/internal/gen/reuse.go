package gen

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// reuseFace writes the method UnmarshalReuse.
func (g facade) reuseFace(msg *message) {
	g.f("func (m *%s) UnmarshalReuse(data []byte) error {", msg.name())
	g.f("var d $Decoder")
	g.finish("m, m.pbfastReuse(d.Start(data, 0))", needsInit(msg.proto))
}

// reuse writes the function that sets m to a message, and takes memory from what m was before.
func (g decoder) reuse(msg *message) {
	g.f("func (m *%s) pbfastReuse"+decodeSignature+") int {", msg.name())
	g.reuseFields(msg)
	g.f("return i\n}\n")
}

// reuseFields writes the code that empties a message and decodes its fields.
func (g decoder) reuseFields(msg *message) {
	g.f("m.unknownFields = m.unknownFields[:0]")
	if slices.ContainsFunc(msg.fields, (*field).bit) {
		g.f("clear(m.XXX_presence[:])")
	}
	for k, f := range msg.ordered {
		name := f.ref()
		ours := !f.isMessage() || g.model.local(f) != nil && f.kind() != protoreflect.GroupKind
		switch {
		case f.inOneof():
			if k == 0 || msg.ordered[k-1].Oneof != f.Oneof {
				g.f("%s = nil", f.oneofRef())
			}
		case f.isMap():
			g.f("clear(%s)", name)
		case f.boxed() && ours:
			g.f("if %s != nil { %s = %s[:0] }", name, elements(f), elements(f))
		case f.list() && ours:
			g.f("%s = %s[:0]", name, name)
		case f.pointer(), f.single() && ours:
			g.f("old%s := %s\n%s = nil", f.GoName, name, name)
		case f.list(), f.isMessage(), f.kind() == protoreflect.BytesKind:
			g.f("%s = nil", name)
		case f.kind() == protoreflect.StringKind:
			g.f("%s = \"\"", name)
		case f.kind() == protoreflect.BoolKind:
			g.f("%s = false", name)
		default:
			g.f("%s = 0", name)
		}
	}
	g.decodeFields(msg)
}

// reuseMessage decodes into a message that was there before, or merges into one that has come in
// this input.
func (g decoder) reuseMessage(f *field) {
	name := f.ref()
	g.f("if %s != nil {", name)
	g.f("%s, i = %s", name, g.decodeCall(f, name))
	g.f("} else {")
	g.f("if %s = old%s; %s == nil { %s = new(%s) }", name, f.GoName, name, name, g.QualifiedGoIdent(f.Message.GoIdent))
	g.reuseInto(g.model.local(f), name)
	g.f("}")
}

// reuseInto decodes into a message that was there before.
func (g decoder) reuseInto(child *message, target string) {
	if !inlined(child) || len(child.slots) > 0 {
		g.f("i = %s.pbfastReuse(d.Part(p, i, depth))", target)
		return
	}
	// Short ones without a call of Part.
	g.f("part, k := p, i+1")
	g.f("if end := $Short(p, i); end > 0 && depth > 0 { part = p[:end:end] } else { _, part, k, _ = d.Part(p, i, depth) }")
	g.f("{\nm, p, i := %s, part, k", target)
	g.reuseFields(child)
	g.f("k = i\n}\ni = k")
}

// reuseElement decodes an element into one that the slice had there before.
func (g decoder) reuseElement(f *field) {
	name := elements(f)
	g.f("n := len(%s)", name)
	g.f("if n < cap(%s) { %s = %s[:n+1] } else { %s = append(%s, nil) }", name, name, name, name, name)
	g.f("if %s[n] == nil { %s[n] = new(%s) }", name, name, g.QualifiedGoIdent(f.Message.GoIdent))
	g.reuseInto(g.model.local(f), name+"[n]")
}
