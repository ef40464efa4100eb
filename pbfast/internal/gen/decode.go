package gen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Checks are the generated checks. Tests show that each is needed by leaving it out.
var Checks = []string{
	"room", "encode-utf8", "decode-utf8", "map-depth", "presence", "merge", "bit",
}

func (g *generator) drop(check string) bool { return g.options.Drop == check }

func partsName(msg *message) string { return "pbfast" + msg.GoIdent.GoName + "Parts" }
func nodeName(msg *message) string  { return "pbfast" + msg.GoIdent.GoName + "Node" }

// parts writes the types in which a message's optional parts are allocated together with it.
func (g *generator) parts(msg *message) {
	if len(msg.slots) == 0 {
		return
	}
	g.f("type %s struct {", partsName(msg))
	for _, f := range msg.slots {
		switch child := g.model.local(f); {
		case f.boxed():
			g.f("%s []%s", f.GoName, g.goType(f))
		case child != nil:
			g.f("%s %s", f.GoName, g.nodeType(child))
		default:
			g.f("%s %s", f.GoName, g.goType(f))
		}
	}
	g.f("}\n")
	g.f("type %s struct {\nm %s\ns %s\n}\n", nodeName(msg), msg.GoIdent.GoName, partsName(msg))
}

// nodeType is a message with its parts.
func (g *generator) nodeType(msg *message) string {
	if len(msg.slots) == 0 {
		return msg.GoIdent.GoName
	}
	return nodeName(msg)
}

// decodeSignature is that of functions that decode, without their name.
func (g *generator) decodeSignature() string {
	return "(d *" + g.rt("Decoder") + ", p []byte, i, depth int"
}

// decode writes the function that merges the message in p, from p[i] on, into m, or into a new one
// if m is nil. It returns the length of p, or why the input is refused.
func (g *generator) decode(msg *message) {
	t := msg.GoIdent.GoName
	name, parts := "pbfastDecode", ""
	if len(msg.slots) > 0 {
		g.f("func (m *%s) pbfastDecode%s) (*%s, int) {", t, g.decodeSignature(), t)
		g.f("return m.pbfastDecodeParts(d, p, i, depth, nil)\n}\n")
		g.f("func (n *%s) pbfastDecode%s) (*%s, int) {", nodeName(msg), g.decodeSignature(), t)
		g.f("if n == nil { return (*%s)(nil).pbfastDecode(d, p, i, depth) }", t)
		g.f("return n.m.pbfastDecodeParts(d, p, i, depth, &n.s)\n}\n")
		name, parts = "pbfastDecodeParts", ", s *"+partsName(msg)
	}
	g.f("func (m *%s) %s%s%s) (*%s, int) {", t, name, g.decodeSignature(), parts, t)
	g.f("if m == nil { m = new(%s) }", t)
	g.decodeFields(msg)
	g.f("return m, i\n}\n")
	for _, f := range msg.fields {
		if f.isMap() {
			g.decodeEntry(msg, f)
		}
	}
}

// readTag begins the loop over fields. The field number is checked where it is none of the
// message's.
func (g *generator) readTag() {
	g.f("for uint(i) < uint(len(p)) {")
	g.f("tag := uint64(p[i])")
	g.f("if i++; tag >= 0x80 { tag, i = %s(p, i-1) }", g.rt("Varint"))
	g.f("switch tag {")
}

// decodeFields writes the loop over a message's fields.
func (g *generator) decodeFields(msg *message) {
	g.readTag()
	for _, f := range msg.fields {
		g.decodeField(msg, f)
	}
	g.f("default:")
	end := ""
	if msg.ext {
		ranges := msg.Desc.ExtensionRanges()
		condition := ""
		for k := range ranges.Len() {
			if k > 0 {
				condition += " || "
			}
			condition += fmt.Sprintf("tag>>3 >= %d && tag>>3 < %d", ranges.Get(k)[0], ranges.Get(k)[1])
		}
		g.f("if %s {\ni = d.Fallback(p, i, tag, m, depth)\n} else {", condition)
		end = "}"
	}
	var maps []string
	for _, f := range msg.fields {
		if f.isMap() {
			maps = append(maps, strconv.Itoa(int(f.Desc.Number())))
		}
	}
	if len(maps) > 0 && !g.drop("map-depth") {
		g.f("i = d.UnknownOrMap(p, i, tag, &m.unknownFields, depth, %s)", strings.Join(maps, ", "))
	} else {
		g.f("i = d.Unknown(p, i, tag, &m.unknownFields)")
	}
	g.f("%s}\n}", end)
}

// read is the call that reads a value that is not a message, and returns it with the index after
// it. present says that the value counts as set even if it is empty.
func (g *generator) read(f *field, present bool) string {
	name := ""
	switch f.kind {
	case protoreflect.Uint64Kind:
		name = "Varint"
	case protoreflect.BoolKind:
		name = "Bool"
	case protoreflect.Sint32Kind:
		name = "Sint32"
	case protoreflect.Sint64Kind:
		name = "Sint64"
	case protoreflect.BytesKind:
		name = "Bytes"
		if present {
			name = "PresentBytes"
		}
		return g.decoderOf(f) + "." + name + "(p, i)"
	case protoreflect.StringKind:
		return g.decoderOf(f) + "." + g.textName(f) + "(p, i)"
	default:
		switch wireOf(f.kind) {
		case protowire.Fixed32Type:
			name = "Fixed32"
		case protowire.Fixed64Type:
			name = "Fixed64"
		default:
			name = "Int"
		}
		return g.rt(name) + "[" + g.goType(f) + "](p, i)"
	}
	return g.rt(name) + "(p, i)"
}

// textName is the name of the function that reads a string.
func (g *generator) textName(f *field) string {
	if f.utf8 && !g.drop("decode-utf8") {
		return "Text"
	}
	return "RawText"
}

// decoderOf is the decoder for the strings and bytes of a field.
func (g *generator) decoderOf(f *field) string {
	switch f.how {
	case textOwn:
		return g.rt("Owning") + "()"
	case textAlias:
		return "d.Aliasing()"
	case textShare:
		return "d.Sharing()"
	}
	return "d"
}

func (g *generator) decodeField(msg *message, f *field) {
	name := f.ref()
	if f.kind == protoreflect.GroupKind {
		g.f("case %#x:\ni = d.Fallback(p, i, tag, m, depth)", f.tag(protowire.StartGroupType))
		return
	}
	g.f("case %#x:", f.tag(wireOf(f.kind)))
	switch {
	case f.isMap():
		g.decodeMap(f)
	case f.inOneof():
		g.decodeOneof(f)
	case f.list() && f.isMessage():
		g.decodeMessages(msg, f)
	case f.list() && f.text():
		appendTo := "AppendBytes"
		if f.kind == protoreflect.StringKind {
			appendTo = "Append" + g.textName(f)
		}
		g.f("%s, i = %s.%s(%s, p, i, %#x)", name, g.decoderOf(f), appendTo, name, runTag(f))
	case f.list():
		g.f("v, j := %s\n%s, i = %s(%s, v, j)", g.read(f, false), name, g.rt("Append"), name)
	case f.isMessage():
		g.decodeMessage(msg, f)
	case f.pointer():
		g.f("if %s == nil {", name)
		g.slot(msg, f, name)
		g.f("}\n*%s, i = %s", name, g.read(f, true))
		g.setPresent(f)
	case f.kind == protoreflect.BytesKind && f.how == textDefault:
		g.decodeBytes(f)
		g.setPresent(f)
	default:
		g.f("%s, i = %s", name, g.read(f, f.Desc.HasPresence() && !g.drop("presence")))
		g.setPresent(f)
	}
	if f.packable() {
		g.f("case %#x:", f.tag(protowire.BytesType))
		appendTo := "AppendVarints"
		switch {
		case wireOf(f.kind) == protowire.Fixed32Type:
			appendTo = "AppendFixed32s"
		case wireOf(f.kind) == protowire.Fixed64Type:
			appendTo = "AppendFixed64s"
		case f.kind == protoreflect.BoolKind:
			appendTo = "AppendBools"
		case f.kind == protoreflect.Sint32Kind, f.kind == protoreflect.Sint64Kind:
			appendTo = "AppendZigZags"
		}
		g.f("%s, i = %s(%s, p, i)", name, g.rt(appendTo), name)
	}
}

// decodeBytes reads bytes of up to 127 bytes that need not be copied without a call.
func (g *generator) decodeBytes(f *field) {
	g.f("if n := %s(p, i); n > 0 && !d.Copies() {\n%s, i = p[i+1:n:n], n\n} else {", g.rt("Short"), f.ref())
	g.f("%s, i = %s\n}", f.ref(), g.read(f, f.Desc.HasPresence() && !g.drop("presence")))
}

// slot sets name to the field's place in the parts, which are made if they are not there, or to one
// of its own.
func (g *generator) slot(msg *message, f *field, name string) {
	goType := g.goType(f)
	if f.boxed() {
		goType = "[]" + goType
	}
	switch {
	case f.boxed() && g.reusing, !g.reusing && !slices.Contains(msg.slots, f):
		g.f("%s = new(%s)", name, goType)
	case g.reusing:
		g.f("if %s = old%s; %s == nil { %s = new(%s) }", name, f.GoName, name, name, goType)
	default:
		g.f("if s = %s(d, s); s != nil { %s = &s.%s } else { %s = new(%s) }", g.rt("Parts"), name, f.GoName, name, goType)
	}
}

// into is the call that decodes a message of the field's type into target, or a new one if that is
// nil. It returns the message with the index after it.
func (g *generator) into(f *field, target string) string {
	if g.model.local(f) == nil {
		return fmt.Sprintf("%s(d, p, i, depth, %s)", g.rt("Foreign"), target)
	}
	return target + ".pbfastDecode(d.Part(p, i, depth))"
}

// none is the expression of a message of the field's type that is not there.
func (g *generator) none(f *field) string { return "(" + g.goType(f) + ")(nil)" }

func (g *generator) decodeMessage(msg *message, f *field) {
	name := f.ref()
	if g.reusing && g.model.local(f) != nil {
		g.reuseMessage(f)
		return
	}
	target := name
	if g.drop("merge") {
		target = g.none(f)
	}
	if !slices.Contains(msg.slots, f) {
		g.f("%s, i = %s", name, g.into(f, target))
		return
	}
	g.f("if s = %s(d, s); s != nil && %s == nil {", g.rt("Parts"), target)
	if len(g.model.local(f).slots) == 0 {
		g.f("%s = &s.%s\n}\n%s, i = %s", name, f.GoName, name, g.into(f, target))
		return
	}
	g.f("%s, i = %s\n} else {\n%s, i = %s\n}", name, g.into(f, "s."+f.GoName), name, g.into(f, target))
}

// decodeMessages decodes a run of elements into a slab that is counted before.
func (g *generator) decodeMessages(msg *message, f *field) {
	name, list := f.ref(), "&"+f.ref()
	child := g.model.local(f)
	if f.boxed() {
		g.f("if %s == nil {", name)
		g.slot(msg, f, name)
		g.f("}")
		name, list = f.elements(), name
	}
	if g.reusing && child != nil {
		g.reuseElement(f)
		return
	}
	if child == nil || runTag(f) == 0 {
		g.f("v, j := %s\n%s, i = %s(%s, v, j)", g.into(f, g.none(f)), name, g.rt("Append"), name)
		return
	}
	node := g.nodeType(child)
	if g.model.sizeOf(child) > maxSlotBytes {
		node = child.GoIdent.GoName
	}
	g.f("slab, n := %s[%s](d, p, i, %#x, %s)", g.rt("Slab"), node, runTag(f), list)
	size := protowire.SizeVarint(f.tag(protowire.BytesType))
	g.f("for i -= %d; n > 0 && i >= 0; n-- {", size)
	g.f("var v *%s\ne := %s(&slab)", child.GoIdent.GoName, g.rt("Take"))
	// Short ones without a call of Part.
	g.f("if end := %s(p, i+%d); end > 0 && depth > 0 {", g.rt("Short"), size)
	g.f("v, i = e.pbfastDecode(d, p[:end:end], i+%d, depth-1)\n} else {", size+1)
	g.f("v, i = e.pbfastDecode(d.Part(p, i+%d, depth))\n}", size)
	g.f("%s = append(%s, v)\n}", name, name)
}

// runTag is wireTag of a field whose elements are counted before they are read, and 0 of one with a
// longer tag.
func runTag(f *field) uint16 {
	if tag := f.tag(protowire.BytesType); protowire.SizeVarint(tag) <= 2 {
		return wireTag(tag)
	}
	return 0
}

// wireTag is a tag's one or two bytes as a little-endian number.
func wireTag(tag uint64) uint16 {
	b := protowire.AppendVarint(nil, tag)
	if len(b) == 1 {
		return uint16(b[0])
	}
	return uint16(b[0]) | uint16(b[1])<<8
}

func (g *generator) decodeOneof(f *field) {
	oneof := f.oneofRef()
	wrapper := g.QualifiedGoIdent(f.wrapper())
	if !f.isMessage() || g.drop("merge") {
		g.f("o := new(%s)", wrapper)
	} else {
		g.f("o := %s[%s](%s)", g.rt("Member"), wrapper, oneof)
	}
	if f.isMessage() {
		g.f("o.%s, i = %s", f.GoName, g.into(f, "o."+f.GoName))
	} else {
		g.f("o.%s, i = %s", f.GoName, g.read(f, true))
	}
	g.f("%s = o", oneof)
}

func entryName(f *field) string { return "pbfastEntry" + f.GoName }

func (g *generator) decodeMap(f *field) {
	name := f.ref()
	g.f("if %s == nil {", name)
	if tag := runTag(f); tag != 0 {
		g.f("%s = make(%s, %s(p, i, %#x))\n}", name, g.mapType(f), g.rt("Run"), tag)
	} else {
		g.f("%s = make(%s)\n}", name, g.mapType(f))
	}
	g.f("i = m.%s(d.Part(p, i, depth))", entryName(f))
}

func (g *generator) mapType(f *field) string {
	key, value := newField(f.Message.Fields[0]), newField(f.Message.Fields[1])
	return "map[" + g.goType(key) + "]" + g.goType(value)
}

// decodeEntry writes the function that decodes a map's entry.
func (g *generator) decodeEntry(msg *message, f *field) {
	key, value := f.entry()
	g.f("func (m *%s) %s%s) int {", msg.GoIdent.GoName, entryName(f), g.decodeSignature())
	g.f("var key %s", g.goType(key))
	if value.isMessage() {
		g.f("value := new(%s)", g.QualifiedGoIdent(value.Message.GoIdent))
	} else {
		g.f("var value %s", g.goType(value))
	}
	g.readTag()
	g.f("case %#x:", key.tag(wireOf(key.kind)))
	g.f("key, i = %s", g.read(key, true))
	g.f("case %#x:", value.tag(wireOf(value.kind)))
	if value.isMessage() {
		g.f("value, i = %s", g.into(value, "value"))
	} else {
		g.f("value, i = %s", g.read(value, true))
	}
	g.f("default:")
	g.f("i = %s(p, i, tag)", g.rt("Skip"))
	g.f("}\n}\nif i >= 0 { %s[key] = value }\nreturn i\n}\n", f.ref())
}
