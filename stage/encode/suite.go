package encode

import (
	"slices"
	"strings"

	"postage/lab"
	"postage/stage/encode/internal/bind"
)

// firstLook are codecs that most readers know, the fastest of each kind, and the floor.
var firstLook = []string{"codec=json", "codec=sonic/config=default", "codec=vtprotobuf", "codec=msgp", "codec=pbfast", "floor=memcpy"}

// baseline is the contender that the others are compared with in every case.
const baseline = "codec=protobuf"

// A kit is what the contenders of a message are made of. The generator writes kitOfT for each
// message T.
type kit[M any] struct {
	plain     bind.Form[M, M]
	marshal   func(*M) ([]byte, error) // by protobuf, as in message
	unmarshal func([]byte, *M) error
	again     func([]byte) ([]byte, error)
	// generated are the contenders that need a type generated for the message, by the name of the
	// file that declares them.
	generated map[string][]contender[M]
}

// describe sets what a message knows of its types.
func (k *kit[M]) describe(msg *message[M]) {
	msg.diff, msg.read, msg.some = differences(k.plain), k.plain.Read, k.plain.Some
	msg.marshal, msg.unmarshal = k.marshal, k.unmarshal
}

// contenders returns a message's contenders, in the order in which they are listed. To add one,
// write a file like its shortest neighbour and add a line here.
func contenders[M any](k kit[M], msg *message[M]) []contender[M] {
	these := func(rows ...contender[M]) []contender[M] { return rows }
	return slices.Concat(
		these(memcpy(msg)),
		k.generated["protobuf"],
		k.generated["vtprotobuf"],
		k.generated["vtpool"],
		k.generated["pbfast"],
		k.generated["easyproto"],
		k.generated["hyperpb"],
		k.generated["polyglot"],
		k.generated["msgp"],
		these(
			msgPackReflect(k.plain),
			avroBinary(k.plain),
		),
		k.generated["capnp"],
		k.generated["flatbuffers"],
		these(
			cborMaps(k.plain),
			gobStream(k.plain),
			gobEach(k.plain),
			jsonStd(k.plain, true),
			jsonStd(k.plain, false),
			jsonV2(k.plain, generatedTags),
		),
		k.generated["protojson"],
		k.generated["easyjson"],
		these(
			goJSON(k.plain),
			sonicJSON(k.plain, true),
			sonicJSON(k.plain, false),
		),
	)
}

// cases returns a message's cases, one for each of its operations. The extra contenders are for
// this message only.
func cases[M any](k kit[M], msg message[M], extra ...contender[M]) []lab.Case {
	k.describe(&msg)
	return casesOf(&msg, append(contenders(k, &msg), extra...))
}

// casesOf returns the cases of a message with rows for these contenders.
func casesOf[M any](msg *message[M], rows []contender[M]) []lab.Case {
	var out []lab.Case
	for _, o := range msg.ops {
		if o != opPack {
			out = append(out, caseOf(msg, rows, o))
			continue
		}
		for _, contender := range rows {
			if c := contender.packCase(msg); c != nil {
				out = append(out, *c)
			}
		}
	}
	return out
}

// caseOf returns the case of a message and an operation.
func caseOf[M any](msg *message[M], rows []contender[M], o op) lab.Case {
	c := lab.Case{
		Name:     "Encode/msg=" + msg.name + "/op=" + string(o),
		Doc:      "What does it cost " + strings.Replace(questions[o], "%s", msg.doc, 1) + "?",
		Headline: msg.headline && (o == opEncode || o == opDecode),
		Baseline: baseline,
	}
	if msg.foreign && o != opKept {
		c.Doc = "What does it cost to " + string(o) + " " + msg.doc + "?"
	}
	if c.Headline {
		c.First = firstLook
	}
	kept := slices.Contains(msg.ops, opKept)
	for _, contender := range rows {
		measured := o
		switch {
		case o == opEncode && kept:
			contender = contender.fresh()
		case o == opKept && strings.HasPrefix(contender.named(), "codec=own/"): // it keeps none
			contender = nil
		case o == opKept:
			measured = opEncode
		}
		if contender != nil {
			c.Contenders = append(c.Contenders, contender.rows(msg, measured)...)
		}
	}
	return c
}

// questions say what an operation does to a message, %s.
var questions = map[op]string{
	opEncode:   "to encode %s",
	opKept:     "to encode %s into a buffer that is kept",
	opDecode:   "to decode %s into a fresh value, and to read every field",
	opSome:     "to decode %s into a fresh value, and to read two of its fields",
	opReuse:    "to decode %s into a kept value, and to read every field",
	opValidate: "to decode %s and to compare every field with the original",
}
