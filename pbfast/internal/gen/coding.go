package gen

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A coding is how values of a kind are held, encoded and decoded. $Name is what the run time has by
// that name.
type coding struct {
	goType string         // an enum's and a message's is their own
	wire   protowire.Type // of one value, with its tag
	most   int            // the most bytes that a number, or a text's length, takes
	write  string         // the number is written by $PutWrite and $AppendWrite,
	word   string         // which take it in this form
	read   string         // is what reads it; %T stands for the Go type
	packed string         // $PutPacked, $AppendPacked and $SizePacked are for packed lists
}

// isNumber says whether values are numbers, bools or enums.
func (c *coding) isNumber() bool { return c.write != "" }

// constant says whether all values take the same number of bytes.
func (c *coding) constant() bool { return c.isNumber() && c.write != "Varint" }

var codings = map[protoreflect.Kind]coding{
	protoreflect.BoolKind:     {"bool", protowire.VarintType, 1, "Byte", "byte($Bit(%s))", "$Bool", "Bools"},
	protoreflect.EnumKind:     {"", protowire.VarintType, 10, "Varint", "uint64(int64(%s))", "$Int[%T]", "Varints"},
	protoreflect.Int32Kind:    {"int32", protowire.VarintType, 10, "Varint", "uint64(int64(%s))", "$Int[%T]", "Varints"},
	protoreflect.Sint32Kind:   {"int32", protowire.VarintType, 5, "Varint", "$ZigZag(int64(%s))", "$Sint32", "ZigZags"},
	protoreflect.Uint32Kind:   {"uint32", protowire.VarintType, 5, "Varint", "uint64(%s)", "$Int[%T]", "Varints"},
	protoreflect.Int64Kind:    {"int64", protowire.VarintType, 10, "Varint", "uint64(%s)", "$Int[%T]", "Varints"},
	protoreflect.Sint64Kind:   {"int64", protowire.VarintType, 10, "Varint", "$ZigZag(int64(%s))", "$Sint64", "ZigZags"},
	protoreflect.Uint64Kind:   {"uint64", protowire.VarintType, 10, "Varint", "%s", "$Varint", "Varints"},
	protoreflect.Sfixed32Kind: {"int32", protowire.Fixed32Type, 4, "Fixed32", "uint32(%s)", "$Fixed32[%T]", "Fixeds"},
	protoreflect.Fixed32Kind:  {"uint32", protowire.Fixed32Type, 4, "Fixed32", "uint32(%s)", "$Fixed32[%T]", "Fixeds"},
	protoreflect.FloatKind:    {"float32", protowire.Fixed32Type, 4, "Fixed32", "$math.Float32bits(%s)", "$Fixed32[%T]", "Fixeds"},
	protoreflect.Sfixed64Kind: {"int64", protowire.Fixed64Type, 8, "Fixed64", "uint64(%s)", "$Fixed64[%T]", "Fixeds"},
	protoreflect.Fixed64Kind:  {"uint64", protowire.Fixed64Type, 8, "Fixed64", "uint64(%s)", "$Fixed64[%T]", "Fixeds"},
	protoreflect.DoubleKind:   {"float64", protowire.Fixed64Type, 8, "Fixed64", "$math.Float64bits(%s)", "$Fixed64[%T]", "Fixeds"},
	protoreflect.StringKind:   {goType: "string", wire: protowire.BytesType, most: 10},
	protoreflect.BytesKind:    {goType: "[]byte", wire: protowire.BytesType, most: 10},
	protoreflect.MessageKind:  {wire: protowire.BytesType},
	protoreflect.GroupKind:    {wire: protowire.StartGroupType},
}
