package codegen

import (
	"cmp"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A structForm is a form of Go structs with exported fields, as most generators make them.
type structForm struct {
	Pkg      string // "pb"
	Kit      string // its field in a message's kit
	Pointers bool   // messages inside messages are pointers
	Wrapped  bool   // optional scalars are messages of their own
}

var (
	plainForm    = structForm{Pkg: "plain", Kit: "Plain"}
	protobufForm = structForm{Pkg: "pb", Kit: "Protobuf", Pointers: true}
	hookForm     = structForm{Pkg: "pbhook", Kit: "Hooked", Pointers: true}
	poolForm     = structForm{Pkg: "pbpool", Kit: "Pooled", Pointers: true}
	polyglotForm = structForm{Pkg: "polymsg", Kit: "Polyglot", Pointers: true, Wrapped: true}
	structForms  = []structForm{plainForm, protobufForm, hookForm, poolForm, polyglotForm}
)

// bound writes a form's file in package bind, from the template of the form's name. The file has the
// name of the messages' package, or else the form's.
func bound(f form, imports ...string) func(*schema, string) error {
	return func(s *schema, internal string) error {
		imports := append([]string{"bytes", "math", s.module + "plain"}, imports...)
		own := strings.Trim(f.Type, "*.")
		if own != "" && own != "plain" {
			imports = append(imports, s.module+own)
		}
		return page{schema: s, Form: &f}.write(filepath.Join(internal, "bind", cmp.Or(own, f.name)+"_gen.go"), "bind", f.name, imports...)
	}
}

func (sf structForm) write(s *schema, internal string) error {
	return bound(form{name: "struct", prefix: sf.Pkg, Type: "*" + sf.Pkg + ".", structForm: sf})(s, internal)
}

func writeKits(s *schema, internal string) error {
	imports := []string{"capnproto.org/go/capnp/v3", "flatbuffers github.com/google/flatbuffers/go"}
	for _, pkg := range []string{"plain", "pb", "pbhook", "pbpool", "polymsg", "capnmsg", "flatmsg"} {
		imports = append(imports, s.module+pkg)
	}
	return page{schema: s}.write(filepath.Join(internal, "bind", "kits_gen.go"), "bind", "kits", imports...)
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

// Oneof reports whether the form has a field in a oneof.
func (sf structForm) Oneof(fd protoreflect.FieldDescriptor) bool {
	return realOneof(fd) != nil && sf.Pointers && !sf.Wrapped
}

// oneofName is the Go name of the oneof that a field is in.
func oneofName(fd protoreflect.FieldDescriptor) string { return camel(string(realOneof(fd).Name())) }

// Holder is the type that holds a field in a oneof.
func (sf structForm) Holder(fd protoreflect.FieldDescriptor) string {
	return sf.Pkg + "." + string(fd.Parent().Name()) + "_" + goName(fd)
}

// From returns an expression of the form's type for one plain value.
func (sf structForm) From(fd protoreflect.FieldDescriptor, value string) string {
	switch {
	case isMessage(fd):
		return sf.Pkg + "From" + string(fd.Message().Name()) + "(" + address(value) + ")"
	case isEnum(fd):
		return sf.Elem(fd) + "(" + value + ")"
	}
	return value
}

// Elem returns the form's type of one value.
func (sf structForm) Elem(fd protoreflect.FieldDescriptor) string {
	switch {
	case isMessage(fd):
		return "*" + sf.Pkg + "." + string(fd.Message().Name())
	case isEnum(fd):
		return sf.Pkg + "." + string(fd.Enum().Name())
	}
	return goScalar(fd)
}

// Converts reports whether the form's type of a value differs from the plain one.
func (sf structForm) Converts(fd protoreflect.FieldDescriptor) bool {
	return isMessage(fd) || isEnum(fd)
}

// Part is an expression for a message in place of the form's type.
func (sf structForm) Part(fd protoreflect.FieldDescriptor, x string) string {
	if isMessage(fd) && !sf.Pointers {
		return "&" + x
	}
	return x
}

// hasOptionals reports whether the message has an optional scalar.
func hasOptionals(md protoreflect.MessageDescriptor) bool {
	seen := map[protoreflect.FullName]bool{}
	var within func(protoreflect.MessageDescriptor) bool
	within = func(md protoreflect.MessageDescriptor) bool {
		if seen[md.FullName()] {
			return false
		}
		seen[md.FullName()] = true
		for _, fd := range fieldsOf(md) {
			if part := partOf(fd); part != nil && within(part) || part == nil && shapeOf(fd) == optional {
				return true
			}
		}
		return false
	}
	return within(md)
}
