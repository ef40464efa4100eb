package codegen

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeKits writes, for every root message T, the struct TKit of its forms and what else contenders
// need to know about it, and the function T, which returns it.
func writeKits(s *schema, path string) error {
	imports := []string{"capnproto.org/go/capnp/v3", "flatbuffers github.com/google/flatbuffers/go", "mus github.com/mus-format/mus-go", s.module + "plain"}
	for _, pkg := range []string{"pb", "pbhook", "pbpool", "polymsg", "capnmsg", "flatmsg"} {
		if s.has(pkg) {
			imports = append(imports, s.module+pkg)
		}
	}
	out := newSource("bind", imports...)
	for _, md := range s.roots {
		writeKit(s, out, md)
	}
	return out.save(path)
}

func writeKit(s *schema, out *source, md protoreflect.MessageDescriptor) {
	name := string(md.Name())
	declared, values := new(source), new(source)
	// field adds a field of the kit; • stands for the message's name.
	field := func(needs, field, typ, value string) {
		if s.has(needs) {
			declared.f("%s %s", field, strings.ReplaceAll(typ, "•", name))
			values.f("%s: %s,", field, strings.ReplaceAll(value, "•", name))
		}
	}
	field("", "Optionals", "bool", fmt.Sprint(hasOptionals(md)))
	for _, sf := range structForms {
		typ := "Form[plain.•, " + sf.pkg + ".•]"
		from, to := "func(m *plain.•) *plain.• { return m }", "func(v, m *plain.•) error { *m = *v; return nil }"
		if sf.pkg != "plain" {
			from = sf.pkg + "From•"
			to = fmt.Sprintf("func(v *%s.•, m *plain.•) error { %sTo•(v, m); return nil }", sf.pkg, sf.pkg)
		}
		field(sf.pkg, kitField[sf.pkg], typ, fmt.Sprintf("%s{\nFrom: %s,\nTo: %s,\nRead: %sUse•,\nSame: %sSame•,\n}", typ, from, to, sf.pkg, sf.pkg))
	}
	field("pbpool", "FromPool", "func() *pbpool.•", "pbpool.•FromVTPool")
	field("easyproto", "Easyproto", "Easyproto[plain.•]", "Easyproto[plain.•]{Marshal: easyMarshal•, Unmarshal: easyDecode•, UnmarshalAlias: easyDecodeAlias•}")
	field("mus", "Mus", "mus.Serializer[plain.•]", "mus•{}")
	field("hyperpb", "Hyperpb", "Hyperpb[plain.•]", "Hyperpb[plain.•]{Descriptor: (*pb.•)(nil).ProtoReflect().Descriptor, Form: hyperForm•}")
	field("capnmsg", "Capnp", "Capnp[plain.•, capnmsg.•]", `Capnp[plain.•, capnmsg.•]{
		Build: capnBuildRoot•,
		Root: func(msg *capnp.Message, v *capnmsg.•) (err error) { *v, err = capnmsg.ReadRoot•(msg); return err },
		To: func(v *capnmsg.•, m *plain.•) error { return capnTo•(*v, m) },
		Read: capnUse•,
		Same: capnSame•,
	}`)
	field("flatmsg", "Flatbuffers", "Flatbuffers[plain.•, flatmsg.•]", `Flatbuffers[plain.•, flatmsg.•]{
		Build: flatBuildRoot•,
		Root: func(data []byte, v *flatmsg.•) { v.Init(data, flatbuffers.GetUOffsetT(data)) },
		To: func(v *flatmsg.•, m *plain.•) error { flatTo•(v, m); return nil },
		Read: flatUse•,
		Same: flatSame•,
	}`)
	out.f("// %sKit is what contenders need to know about message %s.\ntype %sKit struct {\n%s}\n", name, name, name, declared)
	out.f("// %s is the kit of message %s.\nfunc %s() %sKit {\nreturn %sKit{\n%s}\n}\n", name, name, name, name, name, values)
}

// kitField maps forms to the fields of kits.
var kitField = map[string]string{"plain": "Plain", "pb": "Protobuf", "pbhook": "Hooked", "pbpool": "Pooled", "polymsg": "Polyglot"}

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
			optional := shapeOf(fd) == optional
			if fd.IsMap() {
				fd = fd.MapValue()
			}
			if isMessage(fd) && within(fd.Message()) || !isMessage(fd) && optional {
				return true
			}
		}
		return false
	}
	return within(md)
}
