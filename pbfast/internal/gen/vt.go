package gen

// vtNames are the methods that vtprotobuf has, and vtFaces writes.
var vtNames = []string{
	"SizeVT", "MarshalVT", "MarshalToVT", "MarshalToSizedBufferVT", "MarshalVTStrict", "MarshalToVTStrict", "MarshalToSizedBufferVTStrict",
	"UnmarshalVT", "UnmarshalVTUnsafe", "CloneVT", "CloneMessageVT", "EqualVT", "EqualMessageVT",
}

func (g *generator) vtFaces(msg *message) {
	t := msg.GoIdent.GoName
	g.f("// SizeVT is SizeOf.")
	g.f("func (m *%s) SizeVT() int { return m.SizeOf() }\n", t)
	// vtprotobuf's Strict writes in the order of field numbers, backwards; so do we always.
	for _, strict := range []string{"", "Strict"} {
		g.f("// MarshalVT%s returns the message's encoding. It does not look for required fields.", strict)
		if strict != "" {
			g.f("func (m *%s) MarshalVT%s() ([]byte, error) { return m.MarshalVT() }\n", t, strict)
		} else {
			g.f("func (m *%s) MarshalVT() ([]byte, error) {", t)
			g.f("if m == nil { return nil, nil }")
			g.f("size := m.SizeOf()\ndata := make([]byte, size)")
			g.f("n, err := m.MarshalToSizedBufferVT(data)\nif err != nil { return nil, err }\nreturn data[len(data)-n:], nil\n}\n")
		}
		g.f("// MarshalToVT%s puts the message's encoding at the beginning of data and returns its length.", strict)
		g.f("func (m *%s) MarshalToVT%s(data []byte) (int, error) { return m.MarshalToSizedBufferVT(data[:m.SizeOf()]) }\n", t, strict)
	}
	g.f("// MarshalToSizedBufferVT puts the message's encoding at the end of data and returns its length.")
	g.f("func (m *%s) MarshalToSizedBufferVT(data []byte) (int, error) {", t)
	g.f("if m == nil { return 0, nil }")
	g.f("var e %s", g.rt("Encoder"))
	g.f("return e.Written(m.pbfastEncode(e.Into(data)))\n}\n")
	g.f("// MarshalToSizedBufferVTStrict is MarshalToSizedBufferVT.")
	g.f("func (m *%s) MarshalToSizedBufferVTStrict(data []byte) (int, error) { return m.MarshalToSizedBufferVT(data) }\n", t)
	g.f("// UnmarshalVT merges the message in data into m. It does not look for required fields.")
	g.f("func (m *%s) UnmarshalVT(data []byte) error {", t)
	g.f("var d %s", g.rt("Decoder"))
	g.f("return d.Finish(m.pbfastDecode(d.Start(data, %s)))\n}\n", g.memory(msg))
	g.f("// UnmarshalVTUnsafe is UnmarshalVT with strings and bytes that are parts of data.")
	g.f("func (m *%s) UnmarshalVTUnsafe(data []byte) error {", t)
	g.f("var d %s", g.rt("Decoder"))
	g.f("return d.Finish(m.pbfastDecode(d.Start(data, 0)))\n}\n")
	message, clone, equal := g.QualifiedGoIdent(protoPkg.Ident("Message")), g.QualifiedGoIdent(protoPkg.Ident("Clone")), g.QualifiedGoIdent(protoPkg.Ident("Equal"))
	g.f("// CloneVT is proto.Clone.")
	g.f("func (m *%s) CloneVT() *%s {", t, t)
	g.f("if m == nil { return nil }")
	g.f("return %s(m).(*%s)\n}\n", clone, t)
	g.f("// CloneMessageVT is CloneVT.")
	g.f("func (m *%s) CloneMessageVT() %s { return m.CloneVT() }\n", t, message)
	g.f("// EqualVT is proto.Equal.")
	g.f("func (m *%s) EqualVT(other *%s) bool { return %s(m, other) }\n", t, t, equal)
	g.f("// EqualMessageVT is EqualVT, and false for a message of another type.")
	g.f("func (m *%s) EqualMessageVT(other %s) bool {", t, message)
	g.f("o, ok := other.(*%s)", t)
	g.f("return ok && m.EqualVT(o)\n}\n")
}
