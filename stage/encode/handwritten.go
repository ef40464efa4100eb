package encode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"postage/pbfast/validutf8"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// handwritten is protobuf's wire format for the benchmark message only, written by hand with every
// trick: a value without pointers to parts, slices in arrays of its own, a map as a list of pairs,
// texts that are parts of the input, and no allocation. It shows what a codec for that message
// could reach at best; nobody would want to maintain it. Its decoder makes every check that
// protobuf makes. Its encoder does not check that text is UTF-8, which protobuf does.
func handwritten() contender[plain.Benchmark] {
	return &codec[plain.Benchmark, handValue]{
		name:     "floor=handwritten",
		can:      []op{opEncode, opDecode, opReuse},
		protobuf: true,
		floor:    true,
		alias:    true,
		damage:   damagePartly,
		utf8:     "error",
		form: bind.Form[plain.Benchmark, handValue]{
			From: handFrom,
			To:   handTo,
			Read: handRead,
			Same: handSame,
		},
		loops: loops[plain.Benchmark, handValue]{
			encode: func(r *run[plain.Benchmark, handValue], n int) error {
				for range n {
					r.out = r.value().append(r.out[:0])
				}
				return nil
			},
			decode: func(r *run[plain.Benchmark, handValue], n int) error {
				r.keep = true
				for range n {
					if err := r.into().decode(r.input()); err != nil {
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

// A handValue is a benchmark message.
type handValue struct {
	message   string
	embedded  []byte
	pairs     []handPair
	enumText  string
	enum      int32
	repeated  [][]byte
	pairRoom  [4]handPair
	bytesRoom [16][]byte
}

type handPair struct {
	key   string
	value float64
}

func handFrom(m *plain.Benchmark) *handValue {
	v := &handValue{
		message:  m.Message,
		embedded: m.Embedded.EmbeddedData,
		enumText: m.EnumMessage.Message,
		enum:     int32(m.EnumMessage.Embedded),
	}
	for key, value := range m.EmbeddedMap.BuiltMap {
		v.pairs = append(v.pairs, handPair{key, value})
	}
	for _, part := range m.Repeated {
		v.repeated = append(v.repeated, part.EmbeddedData)
	}
	return v
}

func handTo(v *handValue, m *plain.Benchmark) error {
	*m = plain.Benchmark{
		Message:     v.message,
		Embedded:    plain.EmbeddedMessage{EmbeddedData: v.embedded},
		EmbeddedMap: plain.Map{BuiltMap: make(map[string]float64)},
		EnumMessage: plain.EnumMessage{Message: v.enumText, Embedded: plain.EmbeddedEnum(v.enum)},
	}
	for _, p := range v.pairs {
		m.EmbeddedMap.BuiltMap[p.key] = p.value
	}
	for _, data := range v.repeated {
		m.Repeated = append(m.Repeated, plain.EmbeddedMessage{EmbeddedData: data})
	}
	return nil
}

func handRead(v *handValue, _ *plain.Benchmark) (uint64, error) {
	sum := bind.Text(v.message) + bind.Text(v.embedded) + bind.Text(v.enumText) + uint64(v.enum)
	for i := range v.pairs {
		sum += 1 + bind.Text(v.pairs[i].key) + math.Float64bits(v.pairs[i].value)
	}
	for _, data := range v.repeated {
		sum += 1 + bind.Text(data)
	}
	return sum, nil
}

func handSame(v *handValue, m *plain.Benchmark) (uint64, error) {
	same := v.message == m.Message && string(v.embedded) == string(m.Embedded.EmbeddedData) &&
		v.enumText == m.EnumMessage.Message && v.enum == int32(m.EnumMessage.Embedded) &&
		len(v.pairs) == len(m.EmbeddedMap.BuiltMap) && len(v.repeated) == len(m.Repeated)
	if !same {
		return 0, nil
	}
	for i := range v.pairs {
		value, ok := m.EmbeddedMap.BuiltMap[v.pairs[i].key]
		if !ok || math.Float64bits(value) != math.Float64bits(v.pairs[i].value) {
			return 0, nil
		}
	}
	for i, data := range v.repeated {
		if string(data) != string(m.Repeated[i].EmbeddedData) {
			return 0, nil
		}
	}
	return 1, nil
}

// append appends the message in protobuf's wire format.
func (v *handValue) append(b []byte) []byte {
	if v.message != "" {
		b = appendTagged(b, 1<<3|2, v.message)
	}
	b = appendPart(b, 2<<3|2, v.embedded)
	size := 0
	for i := range v.pairs {
		entry := pairLen(v.pairs[i].key)
		size += 1 + protowire.SizeBytes(entry)
	}
	b = append(b, 3<<3|2)
	b = binary.AppendUvarint(b, uint64(size))
	for i := range v.pairs {
		b = appendPair(b, v.pairs[i].key, v.pairs[i].value)
	}
	b = appendEnum(b, v.enumText, v.enum)
	for _, data := range v.repeated {
		b = appendPart(b, 5<<3|2, data)
	}
	return b
}

// pairLen returns the length of a map's entry.
func pairLen(key string) int { return 1 + protowire.SizeBytes(len(key)) + 1 + 8 }

// taggedLen returns the length of a field of n bytes, 0 if it is empty and so left out.
func taggedLen(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(n)
}

func appendTagged[T string | []byte](b []byte, tag byte, s T) []byte {
	if len(s) < 0x80 {
		b = append(b, tag, byte(len(s)))
	} else {
		b = append(b, tag)
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	return append(b, s...)
}

var (
	errHandUTF8   = errors.New("handwritten: text is not UTF-8")
	errHandNumber = errors.New("handwritten: field number is out of range")
)

// decode sets v to the message in b. v keeps parts of b.
func (v *handValue) decode(b []byte) error {
	v.message, v.embedded, v.enumText, v.enum = "", nil, "", 0
	v.pairs, v.repeated = v.pairRoom[:0], v.bytesRoom[:0]
	for len(b) > 0 {
		tag, data, rest, err := field(b)
		if err != nil {
			return err
		}
		b = rest
		switch tag {
		case 1<<3 | 2:
			v.message, err = text(data)
		case 2<<3 | 2:
			v.embedded, err = embedded(data, v.embedded)
		case 3<<3 | 2:
			err = v.decodeMap(data)
		case 4<<3 | 2:
			v.enumText, v.enum, err = decodeEnum(data, v.enumText, v.enum)
		case 5<<3 | 2:
			var part []byte
			part, err = embedded(data, nil)
			v.repeated = append(v.repeated, part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// field splits off a field. data is the content of a text, bytes or message; for other types, it is
// the raw value.
func field(b []byte) (tag uint64, data, rest []byte, err error) {
	if len(b) >= 2 && b[0] >= 1<<3 && b[0] < 0x80 && b[0]&7 == 2 && b[1] < 0x80 {
		if n := 2 + int(b[1]); n <= len(b) {
			return uint64(b[0]), b[2:n:n], b[n:], nil
		}
	}
	return anyField(b)
}

func anyField(b []byte) (tag uint64, data, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, nil, nil, malformed(n)
	}
	if number > protowire.MaxValidNumber {
		return 0, nil, nil, errHandNumber
	}
	b = b[n:]
	if kind == protowire.BytesType {
		data, n = protowire.ConsumeBytes(b)
	} else if n = protowire.ConsumeFieldValue(number, kind, b); n >= 0 {
		data = b[:n]
	}
	if n < 0 {
		return 0, nil, nil, malformed(n)
	}
	return protowire.EncodeTag(number, kind), data[:len(data):len(data)], b[n:], nil
}

func malformed(code int) error {
	return fmt.Errorf("handwritten: malformed message: %w", protowire.ParseError(code))
}

// text returns bytes as a string without copying them.
func text(data []byte) (string, error) {
	if !validutf8.Valid(data) {
		return "", errHandUTF8
	}
	return unsafe.String(unsafe.SliceData(data), len(data)), nil
}

// embedded decodes an EmbeddedMessage over an earlier part of the same message.
func embedded(b, before []byte) ([]byte, error) {
	for len(b) > 0 {
		tag, data, rest, err := field(b)
		if err != nil {
			return nil, err
		}
		if tag == 1<<3|2 {
			before = data
		}
		b = rest
	}
	return before, nil
}

func (v *handValue) decodeMap(b []byte) error {
	for len(b) > 0 {
		tag, data, rest, err := field(b)
		if err != nil {
			return err
		}
		if tag == 1<<3|2 {
			if err := v.decodePair(data); err != nil {
				return err
			}
		}
		b = rest
	}
	return nil
}

func (v *handValue) decodePair(b []byte) error {
	p, err := decodePair(b)
	if err != nil {
		return err
	}
	for i := range v.pairs { // of two entries with the same key, the later one counts
		if v.pairs[i].key == p.key {
			v.pairs[i].value = p.value
			return nil
		}
	}
	v.pairs = append(v.pairs, p)
	return nil
}

// decodePair decodes a map's entry.
func decodePair(b []byte) (p handPair, err error) {
	for len(b) > 0 {
		if len(b) >= 9 && b[0] == 2<<3|1 {
			p.value = math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))
			b = b[9:]
			continue
		}
		tag, data, rest, err := field(b)
		if err != nil {
			return p, err
		}
		switch tag {
		case 1<<3 | 2:
			if p.key, err = text(data); err != nil {
				return p, err
			}
		case 2<<3 | 1:
			p.value = math.Float64frombits(binary.LittleEndian.Uint64(data))
		}
		b = rest
	}
	return p, nil
}

// decodeEnum decodes an EnumMessage over an earlier part of the same message.
func decodeEnum(b []byte, before string, enum int32) (string, int32, error) {
	for len(b) > 0 {
		tag, data, rest, err := field(b)
		if err != nil {
			return before, enum, err
		}
		switch tag {
		case 1<<3 | 2:
			if before, err = text(data); err != nil {
				return before, enum, err
			}
		case 2 << 3:
			x, _ := protowire.ConsumeVarint(data)
			enum = int32(x)
		}
		b = rest
	}
	return before, enum, nil
}
