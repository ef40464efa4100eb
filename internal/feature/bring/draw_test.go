package bring

import (
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// drawSamples draws samples of a message from a seed: some hundred bytes to some kilobytes each, if
// the message allows it.
func drawSamples(seed uint64, original protoreflect.MessageDescriptor, n *Normal) (*Samples, error) {
	s := new(Samples)
	d := &drawer{rnd: rand.New(rand.NewPCG(seed, 0))}
	for range 64 {
		d.left = 20 + d.rnd.IntN(180)
		if err := s.add("a drawn sample", d.message(original, 0), n.Message); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// A drawer draws messages with a limited number of values.
type drawer struct {
	rnd  *rand.Rand
	left int
}

func (d *drawer) message(md protoreflect.MessageDescriptor, depth int) *dynamicpb.Message {
	m := dynamicpb.NewMessage(md)
	fields := md.Fields()
	// In a drawn order, so that the first fields do not use up the values left.
	for _, i := range d.rnd.Perm(fields.Len()) {
		fd := fields.Get(i)
		oneof := fd.ContainingOneof()
		switch {
		case oneof != nil && m.WhichOneof(oneof) != nil:
			continue
		case fd.Cardinality() == protoreflect.Required:
		case d.left <= 0, fd.Message() != nil && !fd.IsMap() && depth >= 6, oneof == nil && d.rnd.IntN(10) < 2:
			continue
		}
		switch {
		case fd.IsMap():
			entries := m.Mutable(fd).Map()
			for range 1 + d.rnd.IntN(3) {
				entries.Set(d.value(fd.MapKey(), depth).MapKey(), d.value(fd.MapValue(), depth))
			}
		case fd.IsList():
			list := m.Mutable(fd).List()
			for range 1 + d.rnd.IntN(4) {
				list.Append(d.value(fd, depth))
			}
		default:
			m.Set(fd, d.value(fd, depth))
		}
	}
	return m
}

func (d *drawer) value(fd protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	d.left--
	whole := d.rnd.Uint64() >> (1 + d.rnd.IntN(62)) // as many small values as large ones
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(whole%2 == 0)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(d.rnd.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(1 + whole%math.MaxInt32))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(1 + whole%math.MaxInt32))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(1 + whole))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(1 + whole)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(d.rnd.NormFloat64() * 1000))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(d.rnd.NormFloat64() * 1000)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(d.text())
	case protoreflect.BytesKind:
		b := make([]byte, 8<<d.rnd.IntN(3))
		for i := range b {
			b[i] = byte(d.rnd.Uint32())
		}
		return protoreflect.ValueOfBytes(b)
	}
	return protoreflect.ValueOfMessage(d.message(fd.Message(), depth+1))
}

var vocabulary = strings.Fields("id name order status region value customer é 東京 request /api/v1/items error 2026-01-02T03:04:05Z content-type payment user-agent")

// text returns one to four words.
func (d *drawer) text() string {
	var words []string
	for range 1 + d.rnd.IntN(4) {
		words = append(words, vocabulary[d.rnd.IntN(len(vocabulary))])
	}
	return strings.Join(words, " ")
}
