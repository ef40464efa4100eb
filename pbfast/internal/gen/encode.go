package gen

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// An encoder writes the functions that encode.
type encoder struct{ *generator }

// encode writes the function that writes a message from its last byte to its first, and then its
// length and the tag that it is given.
func (g encoder) encode(msg *message) {
	g.f("func (m *%s) pbfastEncode(e *$Encoder, w []byte, i int, tag uint64) ([]byte, int) {", msg.name())
	g.f("end := len(w) - i")
	g.f("if m == nil { return e.Length(w, i, end, tag) }")
	g.encodeFields(msg)
	if msg.element && !inlined(msg) { // there are many, and a call costs
		g.f("if j := $Head(w, i, end, tag); j >= 0 { return w, j }")
	}
	g.f("return e.Length(w, i, end, tag)\n}\n")
	for _, f := range msg.fields {
		if f.isMap() {
			g.encodeEntry(msg, f)
		}
	}
}

// encodeFields writes the code that writes a message's fields, in the order from the last to the
// first.
func (g encoder) encodeFields(msg *message) {
	g.f("w, i = e.Unknown(w, i, m.unknownFields)")
	for k := len(msg.ordered) - 1; k >= 0; {
		last := k
		switch f := msg.ordered[k]; {
		case f.inOneof():
			for k >= 0 && msg.ordered[k].Oneof == f.Oneof {
				k--
			}
			g.f("switch v := %s.(type) {", f.oneofRef())
			for _, f := range msg.ordered[k+1 : last+1] {
				g.f("case *%s:\nif v != nil {", g.QualifiedGoIdent(f.wrapper()))
				g.encodeAlone(f, "v."+f.GoName)
				g.f("}")
			}
			g.f("}")
		case simple(f): // room for some of them can be asked for at once
			for k >= 0 && simple(msg.ordered[k]) {
				k--
			}
			g.encodeGroup(msg.ordered[k+1 : last+1])
		default:
			g.encodeField(f)
			k--
		}
	}
}

// inlined says whether a message is encoded where it is a field, without a call.
func inlined(msg *message) bool {
	return len(msg.fields) <= 2 && !slices.ContainsFunc(msg.fields, func(f *field) bool { return !simple(f) })
}

// bounded says whether a message is of a few numbers: it is encoded forwards, as no length has to
// be known.
func bounded(msg *message) bool {
	return len(msg.fields) <= 8 && !slices.ContainsFunc(msg.fields, func(f *field) bool { return !simple(f) || f.text() })
}

// most is how many bytes a bounded message takes at most, without unknown fields.
func most(msg *message) (n int) {
	for _, f := range msg.fields {
		n += tagSize(f) + f.code.most
	}
	return n
}

// forward writes the function that encodes a bounded message.
func (g encoder) forward(msg *message) {
	g.f("func (m *%s) pbfastAppend(b []byte) []byte {", msg.name())
	g.f("if m == nil { return b }")
	for _, f := range msg.ordered {
		condition, value := present(g.source, f)
		tag := ""
		for _, b := range protowire.AppendVarint(nil, ownTag(f)) {
			tag += fmt.Sprintf(", %#x", b)
		}
		g.f("if %s { b = $Append%s(append(b%s), %s) }", condition, f.code.write, tag, g.e(f.code.word, value))
	}
	g.f("return append(b, m.unknownFields...)\n}\n")
}

// simple says whether a field is one number, string or bytes.
func simple(f *field) bool {
	return !f.inOneof() && !f.list() && !f.isMap() && !f.isMessage()
}

// room asks for a constant and some variable numbers of bytes.
func (g encoder) room(constant int, variable ...string) {
	if constant > 0 {
		variable = append([]string{fmt.Sprint(constant)}, variable...)
	}
	g.f("w, i = e.Room(w, i, %s)", strings.Join(variable, " + "))
}

func (g encoder) encodeGroup(fields []*field) {
	constant := 0
	var variable []string
	for _, f := range fields {
		constant += tagSize(f) + f.code.most
		if f.text() && !f.pointer() {
			variable = append(variable, "len("+f.ref()+")")
		}
	}
	g.room(constant, variable...)
	for _, f := range slices.Backward(fields) {
		condition, value := present(g.source, f)
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
func (g encoder) encodeAlone(f *field, value string) {
	switch {
	case f.isMessage():
		g.putMessage(f, value)
		return
	case f.text():
		g.room(tagSize(f)+f.code.most, "len("+value+")")
	default:
		g.room(tagSize(f) + f.code.most)
	}
	g.put(f, value)
}

// tagged is the expression for a tag that is written before what the expression put writes.
func (g encoder) tagged(tag uint64, put string) string {
	switch protowire.SizeVarint(tag) {
	case 1:
		return g.e("$PutByte(w, %s, %#x)", put, tag)
	case 2:
		return g.e("$PutTwo(w, %s, %#x)", put, wireTag(tag))
	}
	return g.e("$PutVarint(w, %s, %#x)", put, tag)
}

// length is the expression for a tag and a length that are written before.
func (g encoder) length(tag uint64, length string) string {
	return g.tagged(tag, g.e("$PutVarint(w, i, uint64(%s))", length))
}

// put writes a value that is no message, with its tag, where there is room.
func (g encoder) put(f *field, value string) {
	tag := f.tag(f.code.wire)
	switch {
	case f.utf8 && tag < 0x80: // the run time writes the tag
		g.f("i = e.PutText(w, i, %s, %#x)", value, tag)
	case f.utf8:
		g.f("i = %s", g.tagged(tag, "e.PutText(w, i, "+value+", 0)"))
	case f.kind() == protoreflect.BytesKind: // the run time's PutRawText costs a call
		g.f("i -= len(%s)\ncopy(w[i:], %s)\ni = %s", value, value, g.length(tag, "len("+value+")"))
	case f.text():
		g.f("i = %s", g.tagged(tag, g.e("$PutRawText(w, i, %s)", value)))
	default:
		g.f("i = %s", g.tagged(tag, g.e("$Put%s(w, i, %s)", f.code.write, g.e(f.code.word, value))))
	}
}

// putMessage writes a message with its length and tag, or a group with its tags.
func (g encoder) putMessage(f *field, value string) {
	call := "w, i = %s.pbfastEncode(e, w, i, %#x)"
	if g.model.local(f) == nil {
		call = "w, i = " + g.foreign.variable(f) + ".Encode(e, w, i, %s, %#x)"
	}
	tag := f.tag(protowire.BytesType)
	switch {
	case f.kind() == protoreflect.GroupKind:
		g.room(tagSize(f))
		g.f("i = %s", g.tagged(f.tag(protowire.EndGroupType), "i"))
		g.f(call, value, 0)
		g.room(tagSize(f))
		g.f("i = %s", g.tagged(f.tag(protowire.StartGroupType), "i"))
	case g.model.local(f) != nil && inlined(g.model.local(f)):
		g.f("end := len(w) - i\nif m := %s; m != nil {", value)
		g.encodeFields(g.model.local(f))
		g.f("}")
		g.room(tagSize(f) + 10)
		g.f("i = %s", g.length(tag, "len(w)-i-end"))
	default:
		g.f(call, value, tag)
	}
}

func (g encoder) encodeField(f *field) {
	name := f.ref()
	switch {
	case f.isMap():
		g.encodeMap(f)
	case f.packable() && f.Desc.IsPacked():
		g.f("if n := len(%s); n > 0 {", name)
		g.room(tagSize(f)+10, fmt.Sprintf("%d*n", f.code.most))
		g.f("end := i\ni = $Put%s(w, i, %s)\ni = %s\n}", f.code.packed, name, g.length(ownTag(f), "end-i"))
	case f.packable():
		g.f("if n := len(%s); n > 0 {", name)
		g.room(0, fmt.Sprintf("%d*n", f.code.most+tagSize(f)))
		g.f("for k := n - 1; k >= 0; k-- {")
		g.put(f, name+"[k]")
		g.f("}\n}")
	case f.list():
		end := ifBoxed(g.source, f)
		name = elements(f)
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

// encodeMap writes a map in one pass, or from its last key to its first.
func (g encoder) encodeMap(f *field) {
	name, sorted := f.ref(), "$SortedKeys"
	if key, _ := f.entry(); key.kind() == protoreflect.BoolKind {
		sorted = "$SortedBools"
	}
	g.f("if len(%s) > 0 {\nif e.Deterministic() {", name)
	g.f("keys := "+sorted+"(%s)", name)
	g.f("for n := len(keys) - 1; n >= 0; n-- { w, i = m.%s(e, w, i, keys[n], %s[keys[n]]) }", entryEncoder(f), name)
	g.f("} else {")
	g.f("for k, v := range %s { w, i = m.%s(e, w, i, k, v) }\n}\n}", name, entryEncoder(f))
}

// entryEncoder is a method, so that no two messages can have one of the same name.
func entryEncoder(f *field) string { return "pbfastPut" + f.GoName }

// encodeEntry writes the function that writes a map's entry.
func (g encoder) encodeEntry(msg *message, f *field) {
	key, value := f.entry()
	g.f("func (*%s) %s(e *$Encoder, w []byte, i int, k %s, v %s) ([]byte, int) {", msg.name(), entryEncoder(f), g.goType(key), g.goType(value))
	constant, tag := tagSize(f)+10+1+key.code.most, f.tag(protowire.BytesType)
	var variable []string
	if key.text() {
		variable = append(variable, "len(k)")
	}
	if value.isMessage() {
		g.f("last := len(w) - i")
		g.putMessage(value, "v")
		g.room(constant, variable...)
		g.put(key, "k")
		g.f("return e.Length(w, i, last, %#x)\n}\n", tag)
		return
	}
	if value.text() {
		variable = append(variable, "len(v)")
	}
	g.room(constant+1+value.code.most, variable...)
	g.f("last := i")
	g.put(value, "v")
	g.put(key, "k")
	g.f("return w, %s\n}\n", g.length(tag, "last-i"))
}
