package codegen

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeKits writes, for every root message T, the function T, which returns everything that
// contenders need to know about it.
func writeKits(s *schema, path string) error {
	imports := []string{"capnproto.org/go/capnp/v3", "flatbuffers github.com/google/flatbuffers/go", s.module + "plain"}
	for _, pkg := range kitPackages {
		if s.has(pkg) {
			imports = append(imports, s.module+pkg)
		}
	}
	out := newSource("bind", imports...)
	for _, md := range s.roots {
		name := md.Name()
		kit := fmt.Sprintf("Kit[plain.%s", name)
		for _, pkg := range kitPackages {
			if s.has(pkg) {
				kit += fmt.Sprintf(", %s.%s", pkg, name)
			} else {
				kit += ", struct{}"
			}
		}
		kit += "]"
		out.f("// %s is the kit of message %s.", name, name)
		out.f("func %s() %s {\nreturn %s{", name, kit, kit)
		out.f("Diff: Diff%s,", name)
		out.f("Optionals: %v,", hasOptionals(md))
		for _, form := range structForms {
			if !s.has(form.pkg) {
				continue
			}
			out.f("%s: Form[plain.%s, %s.%s]{", kitField[form.pkg], name, form.pkg, name)
			if form.pkg == "plain" {
				out.f("From: func(m *plain.%s) *plain.%s { return m },", name, name)
				out.f("To: func(v, m *plain.%s) error { *m = *v; return nil },", name)
			} else {
				out.f("From: %s,", form.fn("from", name))
				out.f("To: func(v *%s.%s, m *plain.%s) error { %s(v, m); return nil },", form.pkg, name, name, form.fn("to", name))
			}
			out.f("Read: %s,\nSame: %s,\n},", form.fn("use", name), form.fn("same", name))
		}
		if s.has("pbpool") {
			out.f("FromPool: pbpool.%sFromVTPool,", name)
		}
		if s.has("easyproto") {
			out.f("Easyproto: Easyproto[plain.%s]{Marshal: easyMarshal%s, Unmarshal: easyDecode%s, UnmarshalAlias: easyDecodeAlias%s},", name, name, name, name)
		}
		if s.has("mus") {
			out.f("Mus: mus%s{},", name)
		}
		if s.has("hyperpb") {
			out.f("Hyperpb: Hyperpb[plain.%s]{Descriptor: (*pb.%s)(nil).ProtoReflect().Descriptor, Form: hyperForm%s},", name, name, name)
		}
		if s.has("capnmsg") {
			out.f("Capnp: Capnp[plain.%s, capnmsg.%s]{", name, name)
			out.f("Build: capnBuildRoot%s,", name)
			out.f("Root: func(msg *capnp.Message, v *capnmsg.%s) (err error) { *v, err = capnmsg.ReadRoot%s(msg); return err },", name, name)
			out.f("To: func(v *capnmsg.%s, m *plain.%s) error { *m = plain.%s{}; return capnTo%s(*v, m) },", name, name, name, name)
			out.f("Read: capnUse%s,\nSame: capnSame%s,\n},", name, name)
		}
		if s.has("flatmsg") {
			out.f("Flatbuffers: Flatbuffers[plain.%s, flatmsg.%s]{", name, name)
			out.f("Build: flatBuildRoot%s,", name)
			out.f("Root: func(data []byte, v *flatmsg.%s) { v.Init(data, flatbuffers.GetUOffsetT(data)) },", name)
			out.f("To: func(v *flatmsg.%s, m *plain.%s) error { *m = plain.%s{}; flatTo%s(v, m); return nil },", name, name, name, name)
			out.f("Read: flatUse%s,\nSame: flatSame%s,\n},", name, name)
		}
		out.f("}\n}\n")
	}
	return out.save(path)
}

// kitPackages are the packages of a kit's type parameters after the first.
var kitPackages = []string{"pb", "pbhook", "pbpool", "polymsg", "capnmsg", "flatmsg"}

// kitField maps forms to the fields of bind.Kit.
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
