package encode

import (
	"bytes"
	"fmt"
	"maps"

	"postage/lab"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/plain"
	"postage/stage/encode/internal/polymsg"
)

// validateCase returns the published page's third operation: decode, and compare every field. It has
// the page's codecs twice: used well, and used as on the page.
func validateCase(page message[plain.Benchmark]) lab.Case {
	k, forms := kitOfBenchmark(), bind.Benchmark()
	k.describe(&page)
	forms.Protobuf.Same = func(v *pb.Benchmark, m *plain.Benchmark) (uint64, error) {
		return samePage(m, v.Message, v.Embedded.GetEmbeddedData(), v.EmbeddedMap.GetBuiltMap(),
			v.EnumMessage.GetMessage(), int32(v.EnumMessage.GetEmbedded()), v.Repeated, (*pb.EmbeddedMessage).GetEmbeddedData), nil
	}
	forms.Polyglot.Same = func(v *polymsg.Benchmark, m *plain.Benchmark) (uint64, error) {
		return samePage(m, v.Message, v.Embedded.EmbeddedData, v.EmbeddedMap.BuiltMap,
			v.EnumMessage.Message, int32(v.EnumMessage.Embedded), v.Repeated, func(part *polymsg.EmbeddedMessage) []byte { return part.EmbeddedData }), nil
	}
	return caseOf(&page, []contender[plain.Benchmark]{
		protobuf(forms.Protobuf, false),
		polyglotGo(forms.Polyglot),
		jsonStd(forms.Plain, true),
		asOnPage[polymsg.Benchmark](polyglotGo(forms.Polyglot)),
		asOnPage[pb.Benchmark](protobuf(forms.Protobuf, false)),
	}, opValidate)
}

// samePage returns 1 if the fields equal m's, else 0.
func samePage[P any](m *plain.Benchmark, text string, data []byte, table map[string]float64, enumText string, enum int32, parts []P, dataOf func(P) []byte) uint64 {
	same := text == m.Message && bytes.Equal(data, m.Embedded.EmbeddedData) && maps.Equal(table, m.EmbeddedMap.BuiltMap) &&
		enumText == m.EnumMessage.Message && enum == int32(m.EnumMessage.Embedded) && len(parts) == len(m.Repeated)
	for i := 0; same && i < len(parts); i++ {
		same = bytes.Equal(dataOf(parts[i]), m.Repeated[i].EmbeddedData)
	}
	if !same {
		return 0
	}
	return 1
}

// asOnPage validates as the published page does: into a kept value, and against texts that are
// formatted for each comparison.
func asOnPage[V any](of contender[plain.Benchmark]) contender[plain.Benchmark] {
	c := *of.(*codec[plain.Benchmark, V])
	c.name += "/value=kept/check=formatted"
	decode, same := c.loops.decode, c.form.Same
	c.loops.decode = func(r *run[plain.Benchmark, V], n int) error {
		r.keep = true
		return decode(r, n)
	}
	c.form.Same = func(v *V, m *plain.Benchmark) (uint64, error) {
		for i := range m.Repeated {
			if fmt.Sprintf(repeatedText, i) != string(m.Repeated[i].EmbeddedData) {
				return 0, nil
			}
		}
		return same(v, m)
	}
	return &c
}
