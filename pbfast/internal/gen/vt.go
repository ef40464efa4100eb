package gen

// vtNames are the methods that vtprotobuf has, and vtFaces writes.
var vtNames = []string{
	"SizeVT", "MarshalVT", "MarshalToVT", "MarshalToSizedBufferVT", "MarshalVTStrict", "MarshalToVTStrict", "MarshalToSizedBufferVTStrict",
	"UnmarshalVT", "UnmarshalVTUnsafe", "CloneVT", "CloneMessageVT", "EqualVT", "EqualMessageVT",
}

// vtFaces writes them, each in a line: the run time does what is the same for all messages.
func (g *generator) vtFaces(msg *message) {
	t, rt := msg.GoIdent.GoName, g.rt
	method := func(face, body string) { g.f("func (m *%s) %s { return %s }\n", t, face, body) }
	method("SizeVT() int", "m.SizeOf()")
	method("MarshalVT() ([]byte, error)", rt("MarshalNew")+"(m)")
	method("MarshalToVT(data []byte) (int, error)", "m.MarshalToSizedBufferVT(data[:m.SizeOf()])")
	g.f("func (m *%s) MarshalToSizedBufferVT(data []byte) (int, error) {", t)
	g.f("var e %s", rt("Encoder"))
	g.f("return e.Written(m.pbfastEncode(e.Into(data)))\n}\n")
	// vtprotobuf's Strict writes in the order of field numbers, backwards; so do we always.
	method("MarshalVTStrict() ([]byte, error)", "m.MarshalVT()")
	method("MarshalToVTStrict(data []byte) (int, error)", "m.MarshalToVT(data)")
	method("MarshalToSizedBufferVTStrict(data []byte) (int, error)", "m.MarshalToSizedBufferVT(data)")
	method("UnmarshalVT(data []byte) error", "m.pbfastMerge(data, "+g.memory(msg)+")")
	method("UnmarshalVTUnsafe(data []byte) error", "m.pbfastMerge(data, 0)")
	g.f("func (m *%s) pbfastMerge(data []byte, mode %s) error {", t, rt("Mode"))
	g.f("var d %s", rt("Decoder"))
	g.f("return d.Finish(m.pbfastDecode(d.Start(data, mode)))\n}\n")
	method("CloneVT() *"+t, rt("Clone")+"(m)")
	method("CloneMessageVT() "+g.QualifiedGoIdent(protoPkg.Ident("Message")), "m.CloneVT()")
	method("EqualVT(other *"+t+") bool", g.QualifiedGoIdent(protoPkg.Ident("Equal"))+"(m, other)")
	method("EqualMessageVT(other "+g.QualifiedGoIdent(protoPkg.Ident("Message"))+") bool", rt("EqualMessage")+"(m, other)")
}
