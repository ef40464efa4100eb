package encode

import (
	"postage/lab"
	"postage/stage/encode/internal/bind"
)

// firstLook are codecs that most readers know, the fastest of each kind, and the floor.
var firstLook = []string{"codec=json", "codec=sonic/config=default", "codec=vtprotobuf", "codec=msgp", "codec=pbfast", "floor=memcpy"}

// baseline is the contender that the others are compared with in every case.
const baseline = "codec=protobuf"

// plainMessage are the methods that generators add to the plain structs.
type plainMessage[M any] interface {
	msgpMessage[M]
	easyjsonMessage[M]
}

// pbMessage are the methods that generators add to protobuf's structs.
type pbMessage[V any] interface {
	vtMessage[V]
	pbfastMessage[V]
}

// contenders returns a message's contenders, in the order in which they are listed. To add one,
// write a file like its shortest neighbour and add a line here.
func contenders[M, PB, Hook, Pool, Poly, Cap, Flat any, MP plainMessage[M], PBP pbMessage[PB], HookP protoMessage[Hook], PoolP pooledMessage[Pool], PolyP polyglotMessage[Poly]](k bind.Kit[M, PB, Hook, Pool, Poly, Cap, Flat], msg *message[M]) []contender[M] {
	return []contender[M]{
		memcpy(msg),
		protobuf[M, PB, PBP](k.Protobuf, false),
		protobuf[M, PB, PBP](k.Protobuf, true),
		vtprotobuf[M, PB, PBP](k.Protobuf, false),
		vtprotobuf[M, PB, PBP](k.Protobuf, true),
		vtPool[M, Pool, PoolP](k.Pooled, k.FromPool),
		pbFast[M, PB, PBP](k.Protobuf, pbfastShared),
		pbFast[M, PB, PBP](k.Protobuf, pbfastOwn),
		pbFast[M, PB, PBP](k.Protobuf, pbfastAlias),
		pbFastHook[M, Hook, HookP](k.Hooked),
		easyProto(k.Plain, k.Easyproto, false),
		easyProto(k.Plain, k.Easyproto, true),
		hyperPB(k.Hyperpb, false),
		hyperPB(k.Hyperpb, true),
		polyglotCodec[M, Poly, PolyP](k.Polyglot, k.Optionals),
		msgPack[M, MP](k.Plain),
		msgPackReflect(k.Plain),
		avroBinary(k.Plain),
		musFormat(k.Plain, k.Mus),
		capnProto(k.Capnp),
		flatBuffers(k.Flatbuffers),
		cborMaps(k.Plain),
		gobStream(k.Plain),
		gobEach(k.Plain),
		jsonStd(k.Plain, true),
		jsonStd(k.Plain, false),
		jsonV2(k.Plain),
		protoJSON[M, PB, PBP](k.Protobuf),
		grpcGateway[M, PB, PBP](k.Protobuf),
		easyJSON[M, MP](k.Plain),
		goJSON(k.Plain),
		sonicJSON(k.Plain, true),
		sonicJSON(k.Plain, false),
	}
}

// cases returns a message's cases, one for each operation. The extra contenders are for this
// message only.
func cases[M, PB, Hook, Pool, Poly, Cap, Flat any, MP plainMessage[M], PBP pbMessage[PB], HookP protoMessage[Hook], PoolP pooledMessage[Pool], PolyP polyglotMessage[Poly]](k bind.Kit[M, PB, Hook, Pool, Poly, Cap, Flat], msg message[M], extra ...contender[M]) []lab.Case {
	msg.diff, msg.read = k.Diff, k.Plain.Read
	msg.marshal, msg.unmarshal = reference[M, PB, PBP](k.Protobuf)
	return casesOf(&msg, append(contenders[M, PB, Hook, Pool, Poly, Cap, Flat, MP, PBP, HookP, PoolP, PolyP](k, &msg), extra...))
}

// casesOf returns the cases of a message with rows for these contenders.
func casesOf[M any](msg *message[M], rows []contender[M]) []lab.Case {
	var out []lab.Case
	for _, o := range []op{opEncode, opDecode, opReuse, opValidate} {
		doc := question(o, msg.doc)
		if msg.foreign {
			if o != opEncode && o != opDecode {
				continue // these need generated code
			}
			doc = "What does it cost to " + string(o) + " " + msg.doc + "?"
		}
		c := lab.Case{
			Name:     "Encode/msg=" + msg.name + "/op=" + string(o),
			Doc:      doc,
			Headline: msg.headline && (o == opEncode || o == opDecode),
			Baseline: baseline,
		}
		if c.Headline {
			c.First = firstLook
		}
		for _, contender := range rows {
			c.Contenders = append(c.Contenders, contender.rows(msg, o)...)
		}
		out = append(out, c)
	}
	for _, contender := range rows {
		if c := contender.packCase(msg); c != nil {
			out = append(out, *c)
		}
	}
	return out
}

func question(o op, doc string) string {
	switch o {
	case opEncode:
		return "What does it cost to encode " + doc + "?"
	case opReuse:
		return "What does it cost to decode " + doc + " into a kept value, and to read every field?"
	case opValidate:
		return "What does it cost to decode " + doc + " and to compare every field with the original?"
	}
	return "What does it cost to decode " + doc + " into a fresh value, and to read every field?"
}
