package gen

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/gofeaturespb"
)

// With the opaque API the struct's fields have other names, some have other types, and bits say
// which of them are set. What is here follows protoc-gen-go's opaque.go.

func opaque(msg *protogen.Message) bool { return msg.APILevel == gofeaturespb.GoFeatures_API_OPAQUE }

const hidden = "xxx_hidden_"

// ref is the struct's field, and oneofRef the field that holds its oneof.
func (f *field) ref() string      { return f.inStruct(f.GoName) }
func (f *field) oneofRef() string { return f.inStruct(f.Oneof.GoName) }

func (f *field) inStruct(name string) string {
	if opaque(f.Parent) {
		return "m." + hidden + name
	}
	return "m." + name
}

// wrapper is the type that the field has in its oneof.
func (f *field) wrapper() protogen.GoIdent {
	if !opaque(f.Parent) {
		return f.GoIdent
	}
	id := protogen.GoIdent{GoImportPath: f.Parent.GoIdent.GoImportPath, GoName: f.Parent.GoIdent.GoName + "_" + f.GoName}
	taken := func() bool {
		return slices.ContainsFunc(f.Parent.Messages, func(m *protogen.Message) bool { return m.GoIdent == id }) ||
			slices.ContainsFunc(f.Parent.Enums, func(e *protogen.Enum) bool { return e.GoIdent == id })
	}
	for taken() {
		id.GoName += "_"
	}
	first, n := utf8.DecodeRuneInString(id.GoName)
	id.GoName = string(unicode.ToLower(first)) + id.GoName[n:]
	return id
}

// boxed says whether the struct holds a pointer to a list.
func (f *field) boxed() bool { return opaque(f.Parent) && f.list() && f.isMessage() }

// bit says whether the field has a presence bit.
func (f *field) bit() bool {
	return opaque(f.Parent) && !f.inOneof() && !f.isMap() && !f.isMessage() && f.Desc.HasPresence()
}

// bitOf returns a field's place among the fields that may have a bit, and their number.
func bitOf(f *field) (index, size int) {
	for _, other := range f.Parent.Fields {
		if other == f.Field {
			index = size
		}
		if other.Oneof == nil || other == other.Oneof.Fields[len(other.Oneof.Fields)-1] {
			size++
		}
	}
	return index, size
}

// setPresent says that a field is there, if that is told by a bit.
func (g decoder) setPresent(f *field) {
	if index, size := bitOf(f); f.bit() {
		g.f("$impl.X.SetPresentNonAtomic(&m.XXX_presence[%d], %d, %d)", index/32, index, size)
	}
}

// elements is the expression of a list of messages that may be behind a pointer, which is not nil
// where it is asked for.
func elements(f *field) string {
	if f.boxed() {
		return "(*" + f.ref() + ")"
	}
	return f.ref()
}

// ifBoxed opens a block, if need be, in which a list that is behind a pointer is there, and returns
// what closes it.
func ifBoxed(s *source, f *field) (end string) {
	if !f.boxed() {
		return ""
	}
	s.f("if %s != nil {", f.ref())
	return "}"
}
