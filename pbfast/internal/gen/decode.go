package gen

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A decoder writes the functions that decode, into a fresh message or into a used one.
type decoder struct {
	*generator
	reusing bool
}

func partsName(msg *message) string { return "pbfast" + msg.name() + "Parts" }

// nodeType is a message with its parts.
func nodeType(msg *message) string {
	if len(msg.slots) == 0 {
		return msg.name()
	}
	return "pbfast" + msg.name() + "Node"
}

// parts writes the types in which a message's optional parts are allocated together with it.
func parts(g *generator, msg *message) {
	if len(msg.slots) == 0 {
		return
	}
	g.f("type %s struct {", partsName(msg))
	for _, f := range msg.slots {
		goType := g.heldType(f)
		if child := g.model.local(f); child != nil && !f.boxed() {
			goType = nodeType(child)
		}
		g.f("%s %s", f.GoName, goType)
	}
	g.f("}\n")
	g.f("type %s struct {\nm %s\ns %s\n}\n", nodeType(msg), msg.name(), partsName(msg))
}

// decodeSignature is what functions that decode take.
const decodeSignature = "(d *$Decoder, p []byte, i, depth int"

// decode writes the function that merges the message in p, from p[i] on, into m, or into a new one
// if m is nil. It returns the length of p, or why the input is refused. A node has the same, which
// the compiler puts in the place of its call.
func (g decoder) decode(msg *message) {
	t := msg.name()
	name, node := "pbfastDecode", ""
	if len(msg.slots) > 0 {
		g.f("func (m *%s) pbfastDecode"+decodeSignature+") (*%s, int) {", t, t)
		g.f("return m.pbfastDecodeInto(d, p, i, depth, nil)\n}\n")
		g.f("func (n *%s) pbfastDecode"+decodeSignature+") (*%s, int) {", nodeType(msg), t)
		g.f("return (*%s)(nil).pbfastDecodeInto(d, p, i, depth, n)\n}\n", t)
		name, node = "pbfastDecodeInto", ", n *"+nodeType(msg)
	}
	g.f("func (m *%s) %s"+decodeSignature+"%s) (*%s, int) {", t, name, node, t)
	if node != "" {
		g.f("var s *%s\nif n != nil { m, s = &n.m, &n.s }", partsName(msg))
	}
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
func (g decoder) readTag() {
	g.f("for uint(i) < uint(len(p)) {")
	g.f("tag := uint64(p[i])")
	g.f("if i++; tag >= 0x80 { tag, i = $Varint(p, i-1) }")
	g.f("switch tag {")
}

// decodeFields writes the loop over a message's fields.
func (g decoder) decodeFields(msg *message) {
	g.readTag()
	var maps []string
	for _, f := range msg.fields {
		g.decodeField(msg, f)
		if f.isMap() {
			maps = append(maps, fmt.Sprint(f.number()))
		}
	}
	g.f("default:")
	if msg.group {
		g.f("if tag&7 == %d {\ni = d.EndGroup(i, tag, depth)\nbreak\n}", protowire.EndGroupType)
	}
	if len(maps) > 0 {
		g.f("i = d.UnknownOrMap(p, i, tag, &m.unknownFields, depth, %s)", strings.Join(maps, ", "))
	} else {
		g.f("i = d.Unknown(p, i, tag, &m.unknownFields)")
	}
	g.f("}\n}")
}

// read is the call that reads a value that is not a message, and returns it with the index after
// it. present says that the value counts as set even if it is empty.
func (g decoder) read(f *field, present bool) string {
	name := "RawText"
	switch {
	case f.code.isNumber():
		return g.e(strings.ReplaceAll(f.code.read, "%T", g.goType(f)) + "(p, i)")
	case f.kind() == protoreflect.BytesKind && present:
		name = "PresentBytes"
	case f.kind() == protoreflect.BytesKind:
		name = "Bytes"
	case f.utf8:
		name = "Text"
	}
	return "d." + name + "(p, i)"
}

func (g decoder) decodeField(msg *message, f *field) {
	name := f.ref()
	g.f("case %#x:", f.tag(f.code.wire))
	switch {
	case f.kind() == protoreflect.GroupKind:
		g.decodeGroup(msg, f)
	case f.isMap():
		g.decodeMap(f)
	case f.inOneof():
		g.decodeOneof(f)
	case f.list() && f.isMessage():
		g.decodeMessages(msg, f)
	case f.list():
		g.decodeElement(f, name, g.read(f, true))
	case f.isMessage():
		g.decodeMessage(msg, f)
	case f.pointer():
		g.f("if %s == nil {", name)
		g.slot(msg, f, name)
		g.f("}\n*%s, i = %s", name, g.read(f, true))
		g.setPresent(f)
	case f.kind() == protoreflect.BytesKind: // short ones without a call
		g.f("if n := $Short(p, i); n > 0 && !d.Copies() {\n%s, i = p[i+1:n:n], n\n} else {", name)
		g.f("%s, i = %s\n}", name, g.read(f, f.Desc.HasPresence()))
		g.setPresent(f)
	default:
		g.f("%s, i = %s", name, g.read(f, f.Desc.HasPresence()))
		g.setPresent(f)
	}
	if f.packable() {
		g.f("case %#x:\n%s, i = $Append%s(%s, p, i)", f.tag(protowire.BytesType), name, f.code.packed, name)
	}
}

// decodeGroup decodes a group, which ends where its message finds the tag for that.
func (g decoder) decodeGroup(msg *message, f *field) {
	name := f.ref()
	switch {
	case f.inOneof():
		g.decodeOneof(f)
	case f.list():
		if f.boxed() {
			g.f("if %s == nil {", name)
			g.slot(msg, f, name)
			g.f("}")
			name = elements(f)
		}
		g.f("var v %s\nv, i = %s\n%s = append(%s, v)", g.goType(f), g.decodeCall(f, "v"), name, name)
	default:
		g.f("%s, i = %s", name, g.decodeCall(f, name))
	}
	if g.model.local(f) != nil {
		g.f("i = d.GroupEnd(i, %#x, depth)", f.tag(protowire.EndGroupType))
	}
}

// decodeElement appends what is read to a list.
func (g decoder) decodeElement(f *field, list, read string) {
	tag := uint16(0)
	if f.code.wire == protowire.BytesType {
		tag = runTag(f)
	}
	g.f("v, j := %s\n%s, i = $Append(%s, v, p, i, j, %#x)", read, list, list, tag)
}

// slot sets name to the field's place in the parts, which are made if they are not there, or to one
// of its own.
func (g decoder) slot(msg *message, f *field, name string) {
	goType := g.heldType(f)
	switch {
	case g.reusing && !f.boxed():
		g.f("if %s = old%s; %s == nil { %s = new(%s) }", name, f.GoName, name, name, goType)
	case g.reusing || !slices.Contains(msg.slots, f):
		g.f("%s = new(%s)", name, goType)
	default:
		g.f("if s = $Parts(d, s); s != nil { %s = &s.%s } else { %s = new(%s) }", name, f.GoName, name, goType)
	}
}

// decodeCall is the call that decodes a message of the field's type into target, or a new one if that is
// nil. It returns the message with the index after it.
func (g decoder) decodeCall(f *field, target string) string {
	group := f.kind() == protoreflect.GroupKind
	switch {
	case g.model.local(f) == nil && group:
		return fmt.Sprintf("%s.DecodeGroup(d, p, i, depth, %d, %s)", g.foreign.variable(f), f.number(), target)
	case g.model.local(f) == nil:
		return g.foreign.variable(f) + ".Decode(d, p, i, depth, " + target + ")"
	case group:
		return target + ".pbfastDecode(d.Group(p, i, depth))"
	}
	return target + ".pbfastDecode(d.Part(p, i, depth))"
}

func (g decoder) decodeMessage(msg *message, f *field) {
	name, child := f.ref(), g.model.local(f)
	switch {
	case g.reusing && child != nil:
		g.reuseMessage(f)
		return
	case !slices.Contains(msg.slots, f):
		g.f("%s, i = %s", name, g.decodeCall(f, name))
		return
	}
	g.f("if s = $Parts(d, s); s != nil && %s == nil {", name)
	if len(child.slots) == 0 {
		g.f("%s = &s.%s\n}\n%s, i = %s", name, f.GoName, name, g.decodeCall(f, name))
		return
	}
	g.f("%s, i = %s\n} else {\n%s, i = %s\n}", name, g.decodeCall(f, "s."+f.GoName), name, g.decodeCall(f, name))
}

// decodeMessages decodes a run of elements into a slab that is counted before.
func (g decoder) decodeMessages(msg *message, f *field) {
	name, list := f.ref(), "&"+f.ref()
	child := g.model.local(f)
	if f.boxed() {
		g.f("if %s == nil {", name)
		g.slot(msg, f, name)
		g.f("}")
		name, list = elements(f), name
	}
	switch {
	case g.reusing && child != nil:
		g.reuseElement(f)
		return
	case child == nil || runTag(f) == 0:
		g.decodeElement(f, name, g.decodeCall(f, "("+g.goType(f)+")(nil)"))
		return
	}
	node := nodeType(child)
	if g.model.sizeOf(child) > maxSlotBytes {
		node = child.name()
	}
	g.f("slab, n := $Slab[%s](d, p, i, %#x, %s)", node, runTag(f), list)
	size := protowire.SizeVarint(f.tag(protowire.BytesType))
	g.f("for i -= %d; n > 0 && i >= 0; n-- {", size)
	g.f("var v *%s", child.name())
	// Short ones without a call of Part.
	g.f("if end := $Short(p, i+%d); end > 0 && depth > 0 {", size)
	g.f("v, i = $Take(&slab).pbfastDecode(d, p[:end:end], i+%d, depth-1)\n} else {", size+1)
	g.f("v, i = $Take(&slab).pbfastDecode(d.Part(p, i+%d, depth))\n}", size)
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
	b := append(protowire.AppendVarint(nil, tag), 0)
	return uint16(b[0]) | uint16(b[1])<<8
}

func (g decoder) decodeOneof(f *field) {
	oneof, wrapper := f.oneofRef(), g.QualifiedGoIdent(f.wrapper())
	if f.isMessage() {
		g.f("o := $Member[%s](%s)\no.%s, i = %s", wrapper, oneof, f.GoName, g.decodeCall(f, "o."+f.GoName))
	} else {
		g.f("o := new(%s)\no.%s, i = %s", wrapper, f.GoName, g.read(f, true))
	}
	g.f("%s = o", oneof)
}

func entryName(f *field) string { return "pbfastEntry" + f.GoName }

func (g decoder) decodeMap(f *field) {
	key, value := f.entry()
	room := ""
	if tag := runTag(f); tag != 0 {
		room = g.e(", $MapRoom(p, i, %#x)", tag)
	}
	g.f("if %s == nil {\n%s = make(map[%s]%s%s)\n}", f.ref(), f.ref(), g.goType(key), g.goType(value), room)
	g.f("i = m.%s(d.Part(p, i, depth))", entryName(f))
}

// decodeEntry writes the function that decodes a map's entry.
func (g decoder) decodeEntry(msg *message, f *field) {
	key, value := f.entry()
	g.f("func (m *%s) %s"+decodeSignature+") int {", msg.name(), entryName(f))
	g.f("var key %s", g.goType(key))
	read := ""
	if value.isMessage() {
		g.f("value := new(%s)", g.QualifiedGoIdent(value.Message.GoIdent))
		read = g.decodeCall(value, "value")
	} else {
		g.f("var value %s", g.goType(value))
		read = g.read(value, true)
	}
	g.readTag()
	g.f("case %#x:\nkey, i = %s", key.tag(key.code.wire), g.read(key, true))
	g.f("case %#x:\nvalue, i = %s", value.tag(value.code.wire), read)
	g.f("default:\ni = $Skip(p, i, tag)")
	g.f("}\n}\nif i >= 0 { %s[key] = value }\nreturn i\n}\n", f.ref())
}
