package pbfast_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"postage/pbfast/internal/testmessages/edition2023opaque"
)

// The accessors of the opaque API see what was decoded, and what they set is encoded, through the
// hook and directly.
func TestOpaque(t *testing.T) {
	nested := new(edition2023opaque.TestAllTypesEdition2023_NestedMessage)
	nested.SetA(7)
	m := edition2023opaque.TestAllTypesEdition2023_builder{
		OptionalInt32:         proto.Int32(0), // there, and zero
		OptionalString:        proto.String(""),
		OptionalBytes:         []byte{},
		RepeatedNestedMessage: []*edition2023opaque.TestAllTypesEdition2023_NestedMessage{nested, nil},
		OneofUint32:           proto.Uint32(0),
	}.Build()
	data, err := m.MarshalAppend(nil)
	if err != nil {
		t.Fatal(err)
	}
	if hooked, err := proto.Marshal(m); err != nil || string(hooked) != string(data) {
		t.Errorf("proto.Marshal: %x and %v, directly %x", hooked, err, data)
	}
	kept := new(edition2023opaque.TestAllTypesEdition2023)
	kept.SetOptionalInt64(1)
	for name, got := range map[string]*edition2023opaque.TestAllTypesEdition2023{"fresh": {}, "kept": kept} {
		if err := got.UnmarshalReuse(data); err != nil {
			t.Fatal(err)
		}
		if !got.HasOptionalInt32() || !got.HasOptionalString() || !got.HasOptionalBytes() || !got.HasOneofUint32() {
			t.Errorf("%s: what is there and zero is not there: %v", name, got)
		}
		if got.HasOptionalInt64() || got.HasOptionalBool() || got.HasOptionalNestedMessage() {
			t.Errorf("%s: something is there that was not sent: %v", name, got)
		}
		if list := got.GetRepeatedNestedMessage(); len(list) != 2 || list[0].GetA() != 7 || list[1].HasA() {
			t.Errorf("%s: the list is %v", name, list)
		}
		got.ClearOptionalInt32()
		got.ClearOptionalString()
		got.ClearOptionalBytes()
		got.SetRepeatedNestedMessage(nil)
		got.ClearOneofField()
		if data, err := proto.Marshal(got); err != nil || len(data) != 0 {
			t.Errorf("%s: of what was cleared %x is encoded, %v", name, data, err)
		}
	}
}
