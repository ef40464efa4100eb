package encode

import (
	"bytes"
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"postage/pbfast/validutf8"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// handwrittenOwned is handwritten without the tricks that a service cannot use. It encodes from a
// struct with a Go map and checks that text is UTF-8, and it decodes into a fresh struct that
// shares nothing with the input. It still works for this message only.
func handwrittenOwned(form bind.Form[plain.Benchmark, plain.Benchmark]) contender[plain.Benchmark] {
	return &codec[plain.Benchmark, plain.Benchmark]{
		name:     "floor=handwritten/owned=yes",
		can:      []op{opEncode, opDecode},
		protobuf: true,
		floor:    true,
		damage:   damagePartly,
		utf8:     "error",
		form:     form,
		loops: loops[plain.Benchmark, plain.Benchmark]{
			encode: func(r *run[plain.Benchmark, plain.Benchmark], n int) (err error) {
				for range n {
					if r.out, err = ownedAppend(r.out[:0], r.value()); err != nil {
						return err
					}
				}
				return nil
			},
			decode: func(r *run[plain.Benchmark, plain.Benchmark], n int) error {
				for range n {
					if err := ownedDecode(r.into(), bytes.Clone(r.input())); err != nil {
						return err
					}
					if err := r.took(); err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}

// ownedAppend appends the message in protobuf's wire format.
func ownedAppend(b []byte, m *plain.Benchmark) ([]byte, error) {
	if !validutf8.String(m.Message) || !validutf8.String(m.EnumMessage.Message) {
		return b, errHandUTF8
	}
	if m.Message != "" {
		b = appendTagged(b, 1<<3|2, m.Message)
	}
	b = appendPart(b, 2<<3|2, m.Embedded.EmbeddedData)
	b = append(b, 3<<3|2, 0)
	begin := len(b)
	for key, value := range m.EmbeddedMap.BuiltMap {
		if !validutf8.String(key) {
			return b, errHandUTF8
		}
		b = appendPair(b, key, value)
	}
	if size := len(b) - begin; size < 0x80 {
		b[begin-1] = byte(size)
	} else { // the length takes more octets than were left for it
		var length [binary.MaxVarintLen64]byte
		n := binary.PutUvarint(length[:], uint64(size))
		b = append(b, length[:n-1]...)
		copy(b[begin+n-1:], b[begin:begin+size])
		copy(b[begin-1:], length[:n])
	}
	b = appendEnum(b, m.EnumMessage.Message, int32(m.EnumMessage.Embedded))
	for i := range m.Repeated {
		b = appendPart(b, 5<<3|2, m.Repeated[i].EmbeddedData)
	}
	return b, nil
}

// appendPair appends a map's entry.
func appendPair(b []byte, key string, value float64) []byte {
	b = append(b, 1<<3|2)
	b = binary.AppendUvarint(b, uint64(pairLen(key)))
	b = appendTagged(b, 1<<3|2, key)
	b = append(b, 2<<3|1)
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(value))
}

// appendEnum appends the EnumMessage.
func appendEnum(b []byte, text string, enum int32) []byte {
	size := taggedLen(len(text))
	if enum != 0 {
		size += 1 + protowire.SizeVarint(uint64(enum))
	}
	b = append(b, 4<<3|2)
	b = binary.AppendUvarint(b, uint64(size))
	if text != "" {
		b = appendTagged(b, 1<<3|2, text)
	}
	if enum != 0 {
		b = append(b, 2<<3)
		b = binary.AppendUvarint(b, uint64(enum))
	}
	return b
}

// appendPart appends an EmbeddedMessage.
func appendPart(b []byte, tag byte, data []byte) []byte {
	b = append(b, tag)
	b = binary.AppendUvarint(b, uint64(taggedLen(len(data))))
	if len(data) > 0 {
		b = appendTagged(b, 1<<3|2, data)
	}
	return b
}

// ownedDecode decodes the message in b into m, which must be fresh. m keeps parts of b.
func ownedDecode(m *plain.Benchmark, b []byte) error {
	for len(b) > 0 {
		tag, data, rest, err := field(b)
		if err != nil {
			return err
		}
		switch tag {
		case 1<<3 | 2:
			m.Message, err = text(data)
		case 2<<3 | 2:
			m.Embedded.EmbeddedData, err = embedded(data, m.Embedded.EmbeddedData)
		case 3<<3 | 2:
			err = ownedMap(&m.EmbeddedMap.BuiltMap, data)
		case 4<<3 | 2:
			var enum int32
			m.EnumMessage.Message, enum, err = decodeEnum(data, m.EnumMessage.Message, int32(m.EnumMessage.Embedded))
			m.EnumMessage.Embedded = plain.EmbeddedEnum(enum)
		case 5<<3 | 2:
			if m.Repeated == nil {
				m.Repeated = make([]plain.EmbeddedMessage, 0, ownedRun(b))
			}
			var part []byte
			part, err = embedded(data, nil)
			m.Repeated = append(m.Repeated, plain.EmbeddedMessage{EmbeddedData: part})
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// ownedRun counts how many consecutive fields at the beginning of b have this tag.
func ownedRun(b []byte) (n int) {
	first := b[0]
	for len(b) > 0 && b[0] == first {
		_, _, rest, err := field(b)
		if err != nil {
			break
		}
		n, b = n+1, rest
	}
	return n
}

func ownedMap(to *map[string]float64, b []byte) error {
	for len(b) > 0 {
		tag, data, rest, err := field(b)
		if err != nil {
			return err
		}
		if tag == 1<<3|2 {
			if *to == nil {
				*to = make(map[string]float64, ownedRun(b))
			}
			p, err := decodePair(data)
			if err != nil {
				return err
			}
			(*to)[p.key] = p.value
		}
		b = rest
	}
	return nil
}
