package encode

import (
	"bytes"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/plain"
)

// handwrittenMessage decodes like handwrittenOwned, into the structs that protoc-gen-go makes,
// which take more memory: the difference of the two is what these structs cost.
func handwrittenMessage(form bind.Form[plain.Benchmark, pb.Benchmark]) contender[plain.Benchmark] {
	return &codec[plain.Benchmark, pb.Benchmark]{
		name:     "floor=handwritten/owned=yes/structs=protobuf",
		can:      []op{opDecode},
		protobuf: true,
		floor:    true,
		damage:   damagePartly,
		utf8:     "error",
		form:     form,
		open: func() (loops[plain.Benchmark, pb.Benchmark], error) {
			return loops[plain.Benchmark, pb.Benchmark]{
				decode: func(r *run[plain.Benchmark, pb.Benchmark], n int) error {
					for range n {
						if err := messageDecode(r.into(), bytes.Clone(r.input())); err != nil {
							return err
						}
						if err := r.took(); err != nil {
							return err
						}
					}
					return nil
				},
			}, nil
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
