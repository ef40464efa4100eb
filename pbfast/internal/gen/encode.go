package gen

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// encode writes the function that writes a message from its last byte to its first, and then its
// length and the tag that it is given.
func (g *generator) encode(msg *message) {
	g.f("func (m *%s) pbfastEncode(e *%s, w []byte, i int, tag uint64) ([]byte, int) {", msg.GoIdent.GoName, g.rt("Encoder"))
	g.f("end := len(w) - i")
	g.f("if m == nil { return e.Length(w, i, end, tag) }")
	if msg.ext {
		g.f("if len(m.extensionFields) > 0 { w, i = e.Fallback(w, i, m); return e.Length(w, i, end, tag) }")
	}
	g.encodeFields(msg)
	g.f("return e.Length(w, i, end, tag)\n}\n")
	for _, f := range msg.fields {
		if f.isMap() {
			g.encodeEntry(msg, f)
		}
	}
}

// encodeFields writes the code that writes a message's fields, in the order from the last to the
// first.
func (g *generator) encodeFields(msg *message) {
	g.f("w, i = e.Unknown(w, i, m.unknownFields)")
	for k := len(msg.ordered) - 1; k >= 0; {
		if f := msg.ordered[k]; f.inOneof() {
			first := k
			for first > 0 && msg.ordered[first-1].Oneof == f.Oneof {
				first--
			}
			g.f("switch v := %s.(type) {", f.oneofRef())
			for _, f := range msg.ordered[first : k+1] {
				g.f("case *%s:\nif v != nil {", g.QualifiedGoIdent(f.wrapper()))
				g.encodeAlone(f, "v."+f.GoName)
				g.f("}")
			}
			g.f("}")
			k = first - 1
			continue
		}
		// A group is of fields whose room can be asked for at once.
		last := k
		for k >= 0 && simple(msg.ordered[k]) {
			k--
		}
		if k < last {
			g.encodeGroup(msg.ordered[k+1 : last+1])
			continue
		}
		g.encodeField(msg.ordered[k])
		k--
	}
}

// inlined says whether a message is encoded where it is a field, without a call.
func (g *generator) inlined(msg *message) bool {
	return !g.model.hybrid[msg.file] && len(msg.fields) <= 2 && !msg.ext && !slices.ContainsFunc(msg.fields, func(f *field) bool { return !simple(f) })
}

// bounded says whether a message is of a few numbers: it is encoded forwards, as no length has to
// be known.
func bounded(msg *message) bool {
	for _, f := range msg.fields {
		if !simple(f) || f.text() {
			return false
		}
	}
	return !msg.ext && len(msg.fields) <= 8
}

// forward writes the function that encodes a bounded message.
func (g *generator) forward(msg *message) {
	g.f("func (m *%s) pbfastAppend(b []byte) []byte {", msg.GoIdent.GoName)
	g.f("if m == nil { return b }")
	for _, f := range msg.ordered {
		condition, value := g.present(f)
		g.f("if %s {", condition)
		tag := ""
		for _, b := range protowire.AppendVarint(nil, f.ownTag()) {
			tag += fmt.Sprintf(", %#x", b)
		}
		switch wireOf(f.kind) {
		case protowire.Fixed32Type, protowire.Fixed64Type:
			name, bits := "Fixed32", "32"
			if wireOf(f.kind) == protowire.Fixed64Type {
				name, bits = "Fixed64", "64"
			}
			if f.kind == protoreflect.FloatKind || f.kind == protoreflect.DoubleKind {
				value = g.QualifiedGoIdent(mathPkg.Ident("Float"+bits+"bits")) + "(" + value + ")"
			}
			g.f("b = %s(append(b%s), uint%s(%s))", g.rt("Append"+name), tag, bits, value)
		default:
			if f.kind == protoreflect.BoolKind {
				g.f("b = append(b%s, byte(%s(%s)))", tag, g.rt("Bit"), value)
			} else {
				g.f("b = %s(append(b%s), %s)", g.rt("AppendVarint"), tag, g.varint(f, value))
			}
		}
		g.f("}")
	}
	g.f("return append(b, m.unknownFields...)\n}\n")
}

// simple says whether a field is one number, string or bytes.
func simple(f *field) bool {
	return !f.inOneof() && !f.list() && !f.isMap() && !f.isMessage()
}

// room asks for a constant and some variable numbers of bytes.
func (g *generator) room(constant int, variable ...string) {
	need := strings.Join(variable, " + ")
	if constant > 0 {
		need = fmt.Sprint(constant)
		if len(variable) > 0 {
			need += " + " + strings.Join(variable, " + ")
		}
	}
	if g.options.Drop == "room" {
		return
	}
	g.f("w, i = e.Room(w, i, %s)", need)
}

// most is the most bytes that a number or a length takes.
func most(f *field) int {
	switch {
	case f.text():
		return 10
	case f.kind == protoreflect.BoolKind:
		return 1
	case wireOf(f.kind) == protowire.Fixed32Type:
		return 4
	case wireOf(f.kind) == protowire.Fixed64Type:
		return 8
	case f.kind == protoreflect.Uint32Kind, f.kind == protoreflect.Sint32Kind:
		return 5
	}
	return 10
}

func (g *generator) encodeGroup(fields []*field) {
	constant := 0
	var variable []string
	for _, f := range fields {
		constant += tagSize(f) + most(f)
		if f.text() && !f.pointer() {
			variable = append(variable, "len("+f.ref()+")")
		}
	}
	g.room(constant, variable...)
	for k := len(fields) - 1; k >= 0; k-- {
		f := fields[k]
		condition, value := g.present(f)
		g.f("if %s {", condition)
		if f.pointer() && f.text() {
			// Its length is known once it is known to be there.
			g.f("v := %s", value)
			value = "v"
			g.room(constant, append(variable, "len(v)")...)
		}
		g.put(f, value)
		g.f("}")
	}
}

// encodeAlone asks for room and writes one value with its tag.
func (g *generator) encodeAlone(f *field, value string) {
	switch {
	case f.isMessage():
		g.putMessage(f, value)
		return
	case f.text():
		g.room(tagSize(f)+most(f), "len("+value+")")
	default:
		g.room(tagSize(f) + most(f))
	}
	g.put(f, value)
}

// tagged is the expression for a tag that is written before what the expression put writes.
func (g *generator) tagged(tag uint64, put string) string {
	switch protowire.SizeVarint(tag) {
	case 1:
		return fmt.Sprintf("%s(w, %s, %#x)", g.rt("PutByte"), put, tag)
	case 2:
		return fmt.Sprintf("%s(w, %s, %#x)", g.rt("PutTwo"), put, wireTag(tag))
	}
	return fmt.Sprintf("%s(w, %s, %#x)", g.rt("PutVarint"), put, tag)
}

// put writes a value that is no message, with its tag, where there is room.
func (g *generator) put(f *field, value string) {
	tag := f.tag(wireOf(f.kind))
	switch {
	case f.text() && f.utf8 && !g.drop("encode-utf8") && tag < 0x80: // the run time writes the tag
		g.f("i = e.PutText(w, i, %s, %#x)", value, tag)
	case f.kind == protoreflect.BytesKind: // the run time's PutBytes costs a call
		g.f("i -= len(%s)\ncopy(w[i:], %s)", value, value)
		g.f("i = %s", g.tagged(tag, g.rt("PutVarint")+"(w, i, uint64(len("+value+")))"))
	default:
		g.f("i = %s", g.tagged(tag, g.putUntagged(f, value)))
	}
}

// putUntagged is the expression that writes a value that is no message without its tag.
func (g *generator) putUntagged(f *field, value string) string {
	put := "PutVarint"
	switch {
	case f.text() && f.utf8 && !g.drop("encode-utf8"):
		return "e.PutText(w, i, " + value + ", 0)"
	case f.text():
		return g.rt("PutRawText") + "(w, i, " + value + ")"
	case f.kind == protoreflect.BoolKind:
		return fmt.Sprintf("%s(w, i, byte(%s(%s)))", g.rt("PutByte"), g.rt("Bit"), value)
	case f.kind == protoreflect.FloatKind:
		put, value = "PutFixed32", g.QualifiedGoIdent(mathPkg.Ident("Float32bits"))+"("+value+")"
	case f.kind == protoreflect.DoubleKind:
		put, value = "PutFixed64", g.QualifiedGoIdent(mathPkg.Ident("Float64bits"))+"("+value+")"
	case wireOf(f.kind) == protowire.Fixed32Type:
		put, value = "PutFixed32", "uint32("+value+")"
	case wireOf(f.kind) == protowire.Fixed64Type:
		put, value = "PutFixed64", "uint64("+value+")"
	default:
		value = g.varint(f, value)
	}
	return fmt.Sprintf("%s(w, i, %s)", g.rt(put), value)
}

// putMessage writes a message with its length and tag, or a group with its tags.
func (g *generator) putMessage(f *field, value string) {
	switch {
	case f.kind == protoreflect.GroupKind:
		g.room(tagSize(f))
		g.f("i = %s", g.tagged(f.tag(protowire.EndGroupType), "i"))
		if g.model.local(f) == nil {
			g.f("w, i = e.Foreign(w, i, %s, 0)", value)
		} else {
			g.f("w, i = %s.pbfastEncode(e, w, i, 0)", value)
		}
		g.room(tagSize(f))
		g.f("i = %s", g.tagged(f.tag(protowire.StartGroupType), "i"))
	case g.model.local(f) == nil:
		g.f("w, i = e.Foreign(w, i, %s, %#x)", value, f.tag(protowire.BytesType))
	case g.inlined(g.model.local(f)):
		tag := f.tag(protowire.BytesType)
		g.f("end := len(w) - i")
		g.f("if m := %s; m != nil {", value)
		g.encodeFields(g.model.local(f))
		g.f("}")
		g.room(tagSize(f) + 10)
		g.f("i = %s", g.tagged(tag, g.rt("PutVarint")+"(w, i, uint64(len(w)-i-end))"))
	default:
		g.f("w, i = %s.pbfastEncode(e, w, i, %#x)", value, f.tag(protowire.BytesType))
	}
}

func (g *generator) encodeField(f *field) {
	name := f.ref()
	switch {
	case f.isMap():
		g.encodeMap(f)
	case f.list() && f.packable():
		g.f("if n := len(%s); n > 0 {", name)
		if f.Desc.IsPacked() {
			g.room(tagSize(f)+10, fmt.Sprintf("%d*n", most(f)))
			g.f("end := i")
			g.putElements(f, name)
			g.f("i = %s", g.tagged(f.ownTag(), g.rt("PutVarint")+"(w, i, uint64(end-i))"))
		} else {
			g.room(0, fmt.Sprintf("%d*n", most(f)+tagSize(f)))
			g.f("for k := n - 1; k >= 0; k-- {")
			g.put(f, name+"[k]")
			g.f("}")
		}
		g.f("}")
	case f.list():
		end := g.ifBoxed(f)
		name = f.elements()
		g.f("for k := len(%s) - 1; k >= 0; k-- {", name)
		if f.isMessage() {
			g.encodeAlone(f, name+"[k]")
		} else {
			g.f("v := %s[k]", name)
			g.encodeAlone(f, "v")
		}
		g.f("}%s", end)
	default: // a message
		g.f("if %s != nil {", name)
		g.encodeAlone(f, name)
		g.f("}")
	}
}

// putElements writes the elements of a packed list.
func (g *generator) putElements(f *field, list string) {
	put := "PutVarints"
	switch {
	case wireOf(f.kind) == protowire.Fixed32Type:
		put = "PutFixed32s"
	case wireOf(f.kind) == protowire.Fixed64Type:
		put = "PutFixed64s"
	case f.kind == protoreflect.BoolKind:
		put = "PutBools"
	case f.kind == protoreflect.Sint32Kind, f.kind == protoreflect.Sint64Kind:
		put = "PutZigZags"
	}
	g.f("i = %s(w, i, %s)", g.rt(put), list)
}

// encodeMap writes a map in one pass, or from its last key to its first.
func (g *generator) encodeMap(f *field) {
	name := f.ref()
	key := newField(f.Message.Fields[0])
	sorted := "SortedKeys"
	if key.kind == protoreflect.BoolKind {
		sorted = "SortedBools"
	}
	g.f("if len(%s) > 0 {", name)
	g.f("if e.Deterministic() {")
	g.f("keys := %s(%s)", g.rt(sorted), name)
	g.f("for n := len(keys) - 1; n >= 0; n-- { w, i = m.%s(e, w, i, keys[n], %s[keys[n]]) }", entryEncoder(f), name)
	g.f("} else {")
	g.f("for k, v := range %s { w, i = m.%s(e, w, i, k, v) }", name, entryEncoder(f))
	g.f("}\n}")
}

// entryEncoder is a method, so that no two messages can have one of the same name.
func entryEncoder(f *field) string { return "pbfastPut" + f.GoName }

// encodeEntry writes the function that writes a map's entry.
func (g *generator) encodeEntry(msg *message, f *field) {
	key, value := newField(f.Message.Fields[0]), newField(f.Message.Fields[1])
	g.f("func (*%s) %s(e *%s, w []byte, i int, k %s, v %s) ([]byte, int) {", msg.GoIdent.GoName, entryEncoder(f), g.rt("Encoder"), g.goType(key), g.goType(value))
	constant := tagSize(f) + 10 + 1 + most(key)
	var variable []string
	if key.text() {
		variable = append(variable, "len(k)")
	}
	if !value.isMessage() {
		constant += 1 + most(value)
		if value.text() {
			variable = append(variable, "len(v)")
		}
		g.room(constant, variable...)
		g.f("last := i")
		g.put(value, "v")
		g.put(key, "k")
		g.f("return w, %s\n}\n", g.tagged(f.tag(protowire.BytesType), g.rt("PutVarint")+"(w, i, uint64(last-i))"))
		return
	}
	g.f("last := len(w) - i")
	g.putMessage(value, "v")
	g.room(constant, variable...)
	g.put(key, "k")
	g.f("return e.Length(w, i, last, %#x)\n}\n", f.tag(protowire.BytesType))
}
