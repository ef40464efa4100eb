package pbfast_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"postage/pbfast"
	"postage/pbfast/internal/testmessages/edition2023"
	"postage/pbfast/internal/testmessages/memory"
	"postage/pbfast/internal/testmessages/proto2"
	"postage/pbfast/internal/testmessages/proto2editions"
	"postage/pbfast/internal/testmessages/proto3"
	"postage/pbfast/internal/testmessages/proto3editions"
)

var subjects = []message{
	(*proto2.TestAllTypesProto2)(nil),
	(*proto3.TestAllTypesProto3)(nil),
	(*edition2023.TestAllTypesEdition2023)(nil),
	(*proto2editions.TestAllTypesProto2)(nil),
	(*proto3editions.TestAllTypesProto3)(nil),
	(*proto2.TestAllRequiredTypesProto2)(nil),
	(*proto2.ForeignMessageProto2)(nil),
	(*proto3.NullHypothesisProto3)(nil),
	(*memory.Tree)(nil),
	(*memory.Holder)(nil),
	(*memory.Ring)(nil),
}

func TestAgreesWithProtobuf(t *testing.T) {
	rounds := 10
	switch os.Getenv("POSTAGE_LONG") {
	case "":
	case "hours":
		rounds = 3000
	default:
		rounds = 40
	}
	for _, subject := range subjects {
		t.Run(string(subject.ProtoReflect().Descriptor().FullName()), func(t *testing.T) {
			if err := pbfast.HookError(subject); err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(19, 0))
			var before, used []byte
			for range rounds {
				m := fresh(subject)
				fill(rnd, m.ProtoReflect(), 3)
				data, err := theirBytes(m)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, subject, nil, used, data)
				compare(t, subject, before, used, data)
				for range 20 {
					compare(t, subject, nil, used, damage(rnd, data))
				}
				compare(t, subject, before, used, damage(rnd, data))
				before, used = data, data
			}
		})
	}
}

// Values that random messages hardly ever have.
func TestCorners(t *testing.T) {
	wide := protowire.AppendVarint(nil, 1<<32|1)
	field := func(number protowire.Number, wire protowire.Type, value ...byte) []byte {
		return append(protowire.AppendTag(nil, number, wire), value...)
	}
	for name, data := range map[string][]byte{
		"a sint32 of more than 32 bits":        field(5, protowire.VarintType, wide...),
		"an element of more than 32 bits":      field(35, protowire.VarintType, wide...),
		"a packed element of more than 32":     field(35, protowire.BytesType, append([]byte{byte(len(wide))}, wide...)...),
		"an int32 of more than 32 bits":        field(1, protowire.VarintType, wide...),
		"a bool that is neither 0 nor 1":       field(13, protowire.VarintType, wide...),
		"bytes that are empty":                 field(15, protowire.BytesType, 0),
		"text that is empty":                   field(14, protowire.BytesType, 0),
		"a oneof's text that is empty":         field(113, protowire.BytesType, 0),
		"a oneof twice":                        append(field(113, protowire.BytesType, 1, 'a'), field(111, protowire.VarintType, 0)...),
		"a oneof's message in two parts":       append(field(112, protowire.BytesType, 2, 8, 1), field(112, protowire.BytesType, 0)...),
		"a message in two parts":               append(field(18, protowire.BytesType, 2, 8, 1), field(18, protowire.BytesType, 0)...),
		"a length of ten bytes":                field(14, protowire.BytesType, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 'x'),
		"a length beyond 64 bits":              field(14, protowire.BytesType, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 'x'),
		"a length of 2^63":                     field(14, protowire.BytesType, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 'x'),
		"a length of 2^64-1":                   field(14, protowire.BytesType, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'),
		"a length that is one too much":        field(14, protowire.BytesType, 2, 'x'),
		"a tag in more bytes than it needs":    {0x88, 0x80, 0x00, 0x05},
		"an unknown tag in more bytes":         {0xc0, 0xbb, 0x81, 0x00, 0x05},
		"field number 0":                       {0x00, 0x05},
		"a field number beyond 2^29":           append(protowire.AppendVarint(nil, 1<<32), 5),
		"a group that does not end":            {0x0b},
		"the end of a group":                   {0x0c},
		"an unknown group":                     {0xc3, 0x3e, 0x08, 0x01, 0xc4, 0x3e},
		"wire type 6":                          {0x0e, 0x01},
		"a text as a number":                   {0x70, 0x01},
		"a map's entry without key and value":  field(69, protowire.BytesType, 0),
		"a map's entry with something unknown": field(69, protowire.BytesType, 4, 0x18, 0x01, 0x0a, 0x00),
		"a map's value in two parts":           field(71, protowire.BytesType, 6, 0x12, 0x02, 0x08, 0x01, 0x12, 0x00),
		"packed fixed32 cut":                   field(37, protowire.BytesType, 3, 1, 2, 3),
		"packed fixed64 cut":                   field(38, protowire.BytesType, 7, 1, 2, 3, 4, 5, 6, 7),
		"a packed varint cut":                  field(31, protowire.BytesType, 2, 1, 0x80),
		"a fixed32 cut":                        field(7, protowire.Fixed32Type, 1, 2, 3),
		"a fixed64 cut":                        field(8, protowire.Fixed64Type, 1, 2, 3, 4, 5, 6, 7),
		"a message of another package":         field(201, protowire.BytesType, 0),
		"a wrapper with something unknown":     field(202, protowire.BytesType, 2, 0x10, 0x05),
		"a group's end within a part of it":    {0x0b, 0x0a, 0x01, 0x0c},
		"a map's entry with a number's value":  field(56, protowire.BytesType, 4, 8, 1, 16, 1),
		"a map as a number":                    field(56, protowire.VarintType, 1),
		"a map of messages as a number":        field(71, protowire.VarintType, 1),
		"a surrogate":                          field(14, protowire.BytesType, 3, 0xed, 0xa0, 0x80),
	} {
		t.Run(name, func(t *testing.T) {
			for _, subject := range subjects {
				compare(t, subject, nil, nil, data)
				compare(t, subject, data[:0], nil, data)
			}
		})
	}
}
