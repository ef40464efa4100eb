package gen

// vtFaces writes the methods that vtprotobuf has, each in a line: the run time does what is the same
// for all messages.
func (g facade) vtFaces(msg *message) {
	t := msg.name()
	method := func(face, body string) { g.f("func (m *" + t + ") " + face + " { return " + body + " }\n") }
	method("SizeVT() int", "m.pbfastSize()")
	method("MarshalVT() ([]byte, error)", "$MarshalNew(m == nil, m.pbfastSize(), m.MarshalToSizedBufferVT)")
	method("MarshalToVT(data []byte) (int, error)", "m.MarshalToSizedBufferVT(data[:m.pbfastSize()])")
	g.f("func (m *%s) MarshalToSizedBufferVT(data []byte) (int, error) {", t)
	g.f("var e $Encoder\nreturn e.Written(m.pbfastEncode(e.Into(data)))\n}\n")
	// vtprotobuf's Strict writes in the order of field numbers, backwards; so do we always.
	method("MarshalVTStrict() ([]byte, error)", "m.MarshalVT()")
	method("MarshalToVTStrict(data []byte) (int, error)", "m.MarshalToVT(data)")
	method("MarshalToSizedBufferVTStrict(data []byte) (int, error)", "m.MarshalToSizedBufferVT(data)")
	method("UnmarshalVT(data []byte) error", "m.pbfastMerge(data, $Own|$Apart)")
	method("UnmarshalVTUnsafe(data []byte) error", "m.pbfastMerge(data, 0)")
	g.f("func (m *%s) pbfastMerge(data []byte, mode $Mode) error {", t)
	g.f("if m == nil && len(data) > 0 { return $ErrNil }")
	g.f("var d $Decoder\nreturn d.Finish(m.pbfastDecode(d.Start(data, mode)))\n}\n")
	method("CloneVT() *"+t, "$Clone(m)")
	method("CloneMessageVT() $proto.Message", "m.CloneVT()")
	method("EqualVT(other *"+t+") bool", "$proto.Equal(m, other)")
	method("EqualMessageVT(other $proto.Message) bool", "$EqualMessage(m, other)")
}
