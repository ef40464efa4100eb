package encode

import (
	"bytes"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pb"
)

// handwrittenMessage decodes by hand, with every check, into the structs that protoc-gen-go makes,
// fresh ones whose parts share one copy of the input. What pbfast takes beyond it is pbfast's own;
// what it takes beyond handwrittenOwned is what these structs cost.
func handwrittenMessage[M, V any](form bind.Form[M, V], decode func(*V, []byte) error) contender[M] {
	return &codec[M, V]{
		name:     "floor=handwritten/owned=yes/structs=protobuf",
		can:      []op{opDecode},
		protobuf: true,
		floor:    true,
		damage:   damagePartly,
		utf8:     "error",
		form:     form,
		loops: loops[M, V]{
			decode: decodeBy[M, V](func(m *V, data []byte) error { return decode(m, bytes.Clone(data)) }),
		},
	}
}

// messageDecode decodes the message in b into m, which must be fresh. m keeps parts of b.
func messageDecode(m *pb.Benchmark, b []byte) error {
	var single *struct {
		embedded pb.EmbeddedMessage
		table    pb.Map
		enum     pb.EnumMessage
	}
	var repeated []pb.EmbeddedMessage // for which there is room
	for len(b) > 0 {
		tag, data, rest, err := field(b)
		if err != nil {
			return err
		}
		if single == nil && tag&7 == 2 && tag>>3 >= 2 && tag>>3 <= 4 {
			single = new(struct {
				embedded pb.EmbeddedMessage
				table    pb.Map
				enum     pb.EnumMessage
			})
		}
		switch tag {
		case 1<<3 | 2:
			m.Message, err = text(data)
		case 2<<3 | 2:
			m.Embedded = &single.embedded
			m.Embedded.EmbeddedData, err = embedded(data, m.Embedded.EmbeddedData)
		case 3<<3 | 2:
			m.EmbeddedMap = &single.table
			err = ownedMap(&m.EmbeddedMap.BuiltMap, data)
		case 4<<3 | 2:
			m.EnumMessage = &single.enum
			var enum int32
			m.EnumMessage.Message, enum, err = decodeEnum(data, m.EnumMessage.Message, int32(m.EnumMessage.Embedded))
			m.EnumMessage.Embedded = pb.EmbeddedEnum(enum)
		case 5<<3 | 2:
			if len(repeated) == 0 {
				repeated = make([]pb.EmbeddedMessage, ownedRun(b))
			}
			if m.Repeated == nil {
				m.Repeated = make([]*pb.EmbeddedMessage, 0, len(repeated))
			}
			part := &repeated[0]
			repeated = repeated[1:]
			part.EmbeddedData, err = embedded(data, nil)
			m.Repeated = append(m.Repeated, part)
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}
