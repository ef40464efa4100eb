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
	"room", "encode-utf8", "decode-utf8", "depth", "map-depth", "chunk-inside", "varint-end", "tag-end", "zigzag32", "presence",
	"merge", "bit",
}

func (g *generator) drop(check string) bool { return g.options.Drop == check }

func partsName(msg *message) string { return "pbfast" + msg.GoIdent.GoName + "Parts" }
func nodeName(msg *message) string  { return "pbfast" + msg.GoIdent.GoName + "Node" }

// parts writes the types in which a message's optional parts are allocated together with it.
func (g *generator) parts(msg *message) {
	if len(msg.slots) == 0 {
		return
	}
	g.f("// %s is room for the optional values and messages of one %s, allocated at once.", partsName(msg), msg.GoIdent.GoName)
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

// inNode are the expressions for the message and the argument for its parts in a node.
func (g *generator) inNode(msg *message, node string) (m, parts string) {
	if len(msg.slots) == 0 {
		return "&" + node, ""
	}
	return "&" + node + ".m", "&" + node + ".s, "
}

// decode writes the function that merges a message into m.
func (g *generator) decode(msg *message) {
	t := msg.GoIdent.GoName
	parts := ""
	if len(msg.slots) > 0 {
		parts = "s *" + partsName(msg) + ", "
	}
	g.f("func (m *%s) pbfastDecode(d *%s, p []byte, %sdepth int) error {", t, g.rt("Decoder"), parts)
	if !g.drop("depth") {
		g.f("if depth--; depth < 0 { %s }", g.fail("ErrDepth"))
	}
	g.decodeFields(msg)
	g.f("return nil\n}\n")
	for _, f := range msg.fields {
		if f.isMap() {
			g.decodeEntry(msg, f)
		}
	}
}

// decodeFields writes the loop over a message's fields.
func (g *generator) decodeFields(msg *message) {
	g.f("for i := 0; i < len(p); {")
	g.readTag()
	g.f("switch tag {")
	for _, f := range msg.fields {
		g.decodeField(msg, f)
	}
	g.f("default:")
	g.tooDeepMaps(msg)
	if msg.ext {
		ranges := msg.Desc.ExtensionRanges()
		condition := ""
		for k := range ranges.Len() {
			if k > 0 {
				condition += " || "
			}
			condition += fmt.Sprintf("tag>>3 >= %d && tag>>3 < %d", ranges.Get(k)[0], ranges.Get(k)[1])
		}
		g.f("if %s {", condition)
		g.fallback()
		g.f("continue\n}")
	}
	g.f("if i = d.Unknown(p, i, tag, &m.unknownFields); i < 0 { %s }", g.fail("ErrMalformed"))
	g.f("}\n}")
}

// tooDeepMaps reports a map's field of another wire type as too deep where an entry would be:
// protobuf-go checks the depth first, and only then treats the field as unknown.
func (g *generator) tooDeepMaps(msg *message) {
	var numbers []string
	for _, f := range msg.fields {
		if f.isMap() {
			numbers = append(numbers, strconv.Itoa(int(f.Desc.Number())))
		}
	}
	if len(numbers) > 0 && !g.drop("map-depth") {
		g.f("if depth == 0 {\nswitch tag >> 3 {\ncase %s:\n%s\n}\n}", strings.Join(numbers, ", "), g.fail("ErrDepth"))
	}
}

func (g *generator) fallback() {
	g.f("var err error")
	g.f("if i, err = d.Fallback(p, i, tag, m, depth); err != nil { return err }")
}

// readTag reads a tag, whose field number is checked where it is none of the message's.
func (g *generator) readTag() {
	g.f("tag := uint64(p[i])\ni++")
	g.f("if tag >= 0x80 {")
	if g.drop("tag-end") {
		g.f("if tag, i = %s(p, i-1); i < 0 { break }\n}", g.rt("Varint"))
		return
	}
	g.f("if tag, i = %s(p, i-1); i < 0 { %s }\n}", g.rt("Varint"), g.fail("ErrMalformed"))
}

// readVarint declares v.
func (g *generator) readVarint() {
	g.f("var v uint64")
	if g.drop("varint-end") {
		g.f("if p[i] < 0x80 { v = uint64(p[i]); i++ } else if v, i = %s(p, i); i < 0 { %s }", g.rt("Varint"), g.fail("ErrMalformed"))
		return
	}
	g.f("if i < len(p) && p[i] < 0x80 { v = uint64(p[i]); i++ } else if v, i = %s(p, i); i < 0 { %s }", g.rt("Varint"), g.fail("ErrMalformed"))
}

// readChunk declares v, of bytes.
func (g *generator) readChunk() {
	g.f("var v []byte")
	inside := " && int(p[i]) < len(p)-i"
	if g.drop("chunk-inside") {
		inside = ""
	}
	g.f("if i < len(p) && p[i] < 0x80%s {", inside)
	g.f("j := i + 1 + int(p[i])\nv = p[i+1:j:j]\ni = j")
	g.f("} else if v, i = %s(p, i); i < 0 { %s }", g.rt("Chunk"), g.fail("ErrMalformed"))
}

// read declares v with a value that is not a message, and returns the expression of its Go type.
// present says that the value counts as set even if it is empty.
func (g *generator) read(f *field, present bool) string {
	switch wireOf(f.kind) {
	case protowire.VarintType:
		g.readVarint()
		switch f.kind {
		case protoreflect.BoolKind:
			return "v != 0"
		case protoreflect.Uint64Kind:
			return "v"
		case protoreflect.Sint32Kind: // of which the lower half counts, as protobuf-go has it
			if g.drop("zigzag32") {
				return "int32(" + g.rt("UnZigZag") + "(v))"
			}
			return "int32(" + g.rt("UnZigZag") + "(uint64(uint32(v))))"
		case protoreflect.Sint64Kind:
			return g.rt("UnZigZag") + "(v)"
		}
		return g.goType(f) + "(v)"
	case protowire.Fixed32Type, protowire.Fixed64Type:
		name, bits := "Fixed32", "32"
		if wireOf(f.kind) == protowire.Fixed64Type {
			name, bits = "Fixed64", "64"
		}
		g.f("v, j := %s(p, i)", g.rt(name))
		g.f("if j < 0 { %s }\ni = j", g.fail("ErrMalformed"))
		if f.kind == protoreflect.FloatKind || f.kind == protoreflect.DoubleKind {
			return g.QualifiedGoIdent(mathPkg.Ident("Float"+bits+"frombits")) + "(v)"
		}
		return g.goType(f) + "(v)"
	}
	g.readChunk()
	d := "d"
	switch f.how {
	case textOwn:
		d = g.rt("Owning") + "()"
	case textAlias:
		d = "d.Aliasing()"
	case textShare:
		d = "d.Sharing()"
	}
	if f.kind == protoreflect.BytesKind {
		if present {
			return d + ".PresentBytes(v)"
		}
		return d + ".Bytes(v)"
	}
	if f.utf8 && !g.drop("decode-utf8") {
		g.f("if !%s(v) { %s }", g.QualifiedGoIdent(validate.Ident("Valid")), g.fail("ErrUTF8"))
	}
	return d + ".String(v)"
}

func (g *generator) decodeField(msg *message, f *field) {
	name := f.ref()
	if f.kind == protoreflect.GroupKind {
		g.f("case %#x: // %s, a group", f.tag(protowire.StartGroupType), f.Desc.Name())
		g.fallback()
		return
	}
	g.f("case %#x: // %s", f.tag(wireOf(f.kind)), f.Desc.Name())
	switch {
	case f.isMap():
		g.decodeMap(f)
	case f.inOneof():
		g.decodeOneof(f)
	case f.list() && f.isMessage():
		g.decodeMessages(msg, f)
	case f.list() && f.text():
		g.decodeTexts(f)
	case f.list():
		g.f("%s = append(%s, %s)", name, name, g.read(f, false))
	case f.isMessage():
		g.decodeMessage(msg, f)
	case f.pointer():
		value := g.read(f, true)
		g.f("if %s == nil {", name)
		g.slot(msg, f, name)
		g.f("}\n*%s = %s", name, value)
		g.setPresent(f)
	default:
		g.f("%s = %s", name, g.read(f, f.Desc.HasPresence() && !g.drop("presence")))
		g.setPresent(f)
	}
	if f.packable() {
		g.f("case %#x: // %s, packed", f.tag(protowire.BytesType), f.Desc.Name())
		g.readChunk()
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
		g.f("var err error")
		g.f("if %s, err = %s(%s, v); err != nil { return err }", name, g.rt(appendTo), name)
	}
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
		return
	case g.reusing:
		g.f("if %s = old%s; %s == nil { %s = new(%s) }", name, f.GoName, name, name, goType)
		return
	}
	place := "&s." + f.GoName
	if child := g.model.local(f); child != nil && !f.boxed() {
		place, _ = g.inNode(child, "s."+f.GoName)
		goType = goType[1:]
	}
	g.f("if s = %s(d, s); s != nil { %s = %s } else { %s = new(%s) }", g.rt("Parts"), name, place, name, goType)
}

// into decodes v into target, a message of the field's type.
func (g *generator) into(f *field, target, parts string) {
	if g.model.local(f) == nil {
		g.f("if err := d.Foreign(v, %s, depth); err != nil { return err }", target)
		return
	}
	g.f("if err := %s.pbfastDecode(d, v, %sdepth); err != nil { return err }", target, parts)
}

// fresh is a new message of the field's type on its own, and the argument for parts that are not
// there.
func (g *generator) fresh(f *field) (expression, parts string) {
	if child := g.model.local(f); child != nil {
		parts = g.noParts(child)
	}
	return "new(" + g.QualifiedGoIdent(f.Message.GoIdent) + ")", parts
}

func (g *generator) decodeMessage(msg *message, f *field) {
	name := f.ref()
	g.readChunk()
	if g.reusing && g.model.local(f) != nil {
		g.reuseMessage(f)
		return
	}
	condition := name + " == nil"
	if g.drop("merge") {
		condition = "true"
	}
	g.f("if %s {", condition)
	if !slices.Contains(msg.slots, f) {
		expression, parts := g.fresh(f)
		g.f("%s = %s\n}", name, expression)
		g.into(f, name, parts)
		return
	}
	g.slot(msg, f, name)
	g.f("}")
	child := g.model.local(f)
	if len(child.slots) == 0 {
		g.into(f, name, "")
		return
	}
	// A message that was there before has no place for its parts, unless it is the one in the slot.
	g.f("var of *%s", partsName(child))
	g.f("if s != nil { of = &s.%s.s }", f.GoName)
	g.into(f, name, "of, ")
}

// decodeMessages decodes a run of elements into a slab that is counted before.
func (g *generator) decodeMessages(msg *message, f *field) {
	name := f.ref()
	child := g.model.local(f)
	if f.boxed() {
		g.f("if %s == nil {", name)
		g.slot(msg, f, name)
		g.f("}")
		name = f.elements()
	}
	if g.reusing && child != nil {
		g.reuseElement(f)
		return
	}
	tag := f.tag(protowire.BytesType)
	if child == nil || protowire.SizeVarint(tag) > 2 {
		g.readChunk()
		expression, parts := g.fresh(f)
		g.f("e := %s\n%s = append(%s, e)", expression, name, name)
		g.into(f, "e", parts)
		return
	}
	node, whole := g.nodeType(child), true
	if g.model.sizeOf(child) > maxSlotBytes {
		node, whole = child.GoIdent.GoName, false
	}
	g.f("n := %s(p, i, %#x)", g.rt("Run"), wireTag(tag))
	g.f("%s = %s(%s, n)", name, g.QualifiedGoIdent(slicesPkg.Ident("Grow")), name)
	g.f("for slab := %s[%s](d, n); ; {", g.rt("Slab"), node)
	g.readChunk()
	m, parts := "&slab[0]", g.noParts(child)
	g.f("var e *%s", child.GoIdent.GoName)
	if whole && len(child.slots) > 0 {
		m, _ = g.inNode(child, "slab[0]")
		parts = "of, "
		g.f("var of *%s", partsName(child))
		g.f("if slab != nil { e, of, slab = %s, &slab[0].s, slab[1:] } else { e = new(%s) }", m, child.GoIdent.GoName)
	} else {
		g.f("if slab != nil { e, slab = %s, slab[1:] } else { e = new(%s) }", m, child.GoIdent.GoName)
	}
	g.f("%s = append(%s, e)", name, name)
	g.into(f, "e", parts)
	g.f("if n--; n == 0 { break }")
	g.f("i += %d // its tag, as was counted", protowire.SizeVarint(tag))
	g.f("}")
}

// wireTag is a tag's one or two bytes as a little-endian number.
func wireTag(tag uint64) uint16 {
	b := protowire.AppendVarint(nil, tag)
	if len(b) == 1 {
		return uint16(b[0])
	}
	return uint16(b[0]) | uint16(b[1])<<8
}

// decodeTexts decodes a run of strings or bytes.
func (g *generator) decodeTexts(f *field) {
	name := f.ref()
	tag := f.tag(protowire.BytesType)
	if protowire.SizeVarint(tag) > 2 {
		g.f("%s = append(%s, %s)", name, name, g.read(f, true))
		return
	}
	g.f("if len(%s) == cap(%s) {", name, name)
	g.f("%s = %s(%s, %s(p, i, %#x))\n}", name, g.QualifiedGoIdent(slicesPkg.Ident("Grow")), name, g.rt("Run"), wireTag(tag))
	g.f("%s = append(%s, %s)", name, name, g.read(f, true))
}

func (g *generator) decodeOneof(f *field) {
	oneof := f.oneofRef()
	wrapper := g.QualifiedGoIdent(f.wrapper())
	if !f.isMessage() {
		g.f("%s = &%s{%s: %s}", oneof, wrapper, f.GoName, g.read(f, true))
		return
	}
	g.readChunk()
	expression, parts := g.fresh(f)
	g.f("o, _ := %s.(*%s)", oneof, wrapper)
	if g.drop("merge") {
		g.f("o = nil")
	}
	g.f("if o == nil { o = new(%s) }", wrapper)
	g.f("if o.%s == nil { o.%s = %s }", f.GoName, f.GoName, expression)
	g.into(f, "o."+f.GoName, parts)
	g.f("%s = o", oneof)
}

func entryName(f *field) string { return "pbfastEntry" + f.GoName }

func (g *generator) decodeMap(f *field) {
	name := f.ref()
	g.f("if %s == nil {", name)
	if tag := f.tag(protowire.BytesType); protowire.SizeVarint(tag) <= 2 {
		g.f("%s = make(%s, %s(p, i, %#x))\n}", name, g.mapType(f), g.rt("Run"), wireTag(tag))
	} else {
		g.f("%s = make(%s)\n}", name, g.mapType(f))
	}
	g.readChunk()
	g.f("if err := m.%s(d, v, depth); err != nil { return err }", entryName(f))
}

func (g *generator) mapType(f *field) string {
	key, value := newField(f.Message.Fields[0]), newField(f.Message.Fields[1])
	return "map[" + g.goType(key) + "]" + g.goType(value)
}

// decodeEntry writes the function that decodes a map's entry.
func (g *generator) decodeEntry(msg *message, f *field) {
	key, value := f.entry()
	g.f("func (m *%s) %s(d *%s, p []byte, depth int) error {", msg.GoIdent.GoName, entryName(f), g.rt("Decoder"))
	if !g.drop("map-depth") {
		g.f("if depth--; depth < 0 { %s }", g.fail("ErrDepth"))
	}
	g.f("var key %s", g.goType(key))
	parts := ""
	if value.isMessage() {
		var expression string
		expression, parts = g.fresh(value)
		g.f("value := %s", expression)
	} else {
		g.f("var value %s", g.goType(value))
	}
	g.f("for i := 0; i < len(p); {")
	g.readTag()
	g.f("switch tag {")
	g.f("case %#x:", key.tag(wireOf(key.kind)))
	g.f("key = %s", g.read(key, true))
	g.f("case %#x:", value.tag(wireOf(value.kind)))
	if value.isMessage() {
		g.readChunk()
		g.into(value, "value", parts)
	} else {
		g.f("value = %s", g.read(value, true))
	}
	g.f("default:")
	g.f("if i = %s(p, i, tag); i < 0 { %s }", g.rt("Skip"), g.fail("ErrMalformed"))
	g.f("}\n}\n%s[key] = value\nreturn nil\n}\n", f.ref())
}
