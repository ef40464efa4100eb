package codegen

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeKits writes, for every root message T, the function T, which returns all that
// contenders need to know of it.
func writeKits(s *schema, path string) error {
	out := newSource("bind", s.module+"capnmsg", s.module+"flatmsg", s.module+"pb", s.module+"pbhook", s.module+"pbpool", s.module+"plain", s.module+"polymsg", "capnproto.org/go/capnp/v3", "flatbuffers github.com/google/flatbuffers/go")
	for _, md := range s.roots {
		name := md.Name()
		kit := fmt.Sprintf("Kit[plain.%s, pb.%s, pbhook.%s, pbpool.%s, polymsg.%s, capnmsg.%s, flatmsg.%s]", name, name, name, name, name, name, name)
		out.f("// %s is the kit of message %s.", name, name)
		out.f("func %s() %s {\nreturn %s{", name, kit, kit)
		out.f("Diff: Diff%s,", name)
		out.f("Optionals: %v,", hasOptionals(md))
		for _, form := range structForms {
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
		out.f("FromPool: pbpool.%sFromVTPool,", name)
		out.f("Easyproto: Easyproto[plain.%s]{Marshal: easyMarshal%s, Unmarshal: easyDecode%s, UnmarshalAlias: easyDecodeAlias%s},", name, name, name, name)
		out.f("Mus: mus%s{},", name)
		out.f("Hyperpb: Hyperpb[plain.%s]{Descriptor: (*pb.%s)(nil).ProtoReflect().Descriptor, Form: hyperForm%s},", name, name, name)
		out.f("Capnp: Capnp[plain.%s, capnmsg.%s]{", name, name)
		out.f("Build: capnBuildRoot%s,", name)
		out.f("Root: func(msg *capnp.Message, v *capnmsg.%s) (err error) { *v, err = capnmsg.ReadRoot%s(msg); return err },", name, name)
		out.f("To: func(v *capnmsg.%s, m *plain.%s) error { *m = plain.%s{}; return capnTo%s(*v, m) },", name, name, name, name)
		out.f("Read: capnUse%s,\nSame: capnSame%s,\n},", name, name)
		out.f("Flatbuffers: Flatbuffers[plain.%s, flatmsg.%s]{", name, name)
		out.f("Build: flatBuildRoot%s,", name)
		out.f("Root: func(data []byte, v *flatmsg.%s) { v.Init(data, flatbuffers.GetUOffsetT(data)) },", name)
		out.f("To: func(v *flatmsg.%s, m *plain.%s) error { *m = plain.%s{}; flatTo%s(v, m); return nil },", name, name, name, name)
		out.f("Read: flatUse%s,\nSame: flatSame%s,\n},", name, name)
		out.f("}\n}\n")
	}
	return out.save(path)
}

// kitField names the fields of bind.Kit.
var kitField = map[string]string{"plain": "Plain", "pb": "Protobuf", "pbhook": "Hooked", "pbpool": "Pooled", "polymsg": "Polyglot"}

// hasOptionals says whether there is an optional scalar in the message.
func hasOptionals(md protoreflect.MessageDescriptor) bool {
	for _, fd := range fieldsOf(md) {
		switch {
		case fd.IsMap():
		case isMessage(fd):
			if hasOptionals(fd.Message()) {
				return true
			}
		case shapeOf(fd) == optional:
			return true
		}
	}
	return false
}
