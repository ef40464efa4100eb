package runtime

import (
	"reflect"
	"slices"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// This file is for messages that come with protobuf-go, for which nobody generates code: points in
// time, durations and wrappers.

var knownTypes = map[reflect.Type]any{
	reflect.TypeFor[timestamppb.Timestamp]():  knownType[timestamppb.Timestamp]("Seconds", "Nanos"),
	reflect.TypeFor[durationpb.Duration]():    knownType[durationpb.Duration]("Seconds", "Nanos"),
	reflect.TypeFor[anypb.Any]():              knownType[anypb.Any]("TypeUrl", "Value"),
	reflect.TypeFor[wrapperspb.BoolValue]():   knownType[wrapperspb.BoolValue]("Value"),
	reflect.TypeFor[wrapperspb.Int32Value]():  knownType[wrapperspb.Int32Value]("Value"),
	reflect.TypeFor[wrapperspb.UInt32Value](): knownType[wrapperspb.UInt32Value]("Value"),
	reflect.TypeFor[wrapperspb.Int64Value]():  knownType[wrapperspb.Int64Value]("Value"),
	reflect.TypeFor[wrapperspb.UInt64Value](): knownType[wrapperspb.UInt64Value]("Value"),
	reflect.TypeFor[wrapperspb.FloatValue]():  knownType[wrapperspb.FloatValue]("Value"),
	reflect.TypeFor[wrapperspb.DoubleValue](): knownType[wrapperspb.DoubleValue]("Value"),
	reflect.TypeFor[wrapperspb.StringValue](): knownType[wrapperspb.StringValue]("Value"),
}

// knownType codes messages with the named fields, which have the numbers 1, 2 and so on. Messages
// that are nil or have unknown fields are left to protobuf-go, and so is input with anything else.
func knownType[T any](names ...string) *Type[T] {
	slow := &Type[T]{slowSize[T], slowEncode[T], slowDecode[T], true}
	unknown, ok := reflect.TypeFor[T]().FieldByName("unknownFields")
	if !ok || unknown.Type.Kind() != reflect.Slice {
		return slow
	}
	var fields []knownField
	for k, name := range names {
		f, ok := reflect.TypeFor[T]().FieldByName(name)
		if !ok {
			return slow
		}
		wire := knownWires[f.Type.Kind()]
		fields = append(fields, knownField{f.Offset, f.Type.Kind(), byte(protowire.EncodeTag(protowire.Number(k+1), wire))})
	}
	isPlain := func(m *T) bool {
		return m != nil && len(*(*[]byte)(unsafe.Add(unsafe.Pointer(m), unknown.Offset))) == 0
	}
	return &Type[T]{
		size: func(m *T) (n int) {
			if !isPlain(m) {
				return slowSize(m)
			}
			for k := range fields {
				n += fields[k].size(unsafe.Pointer(m))
			}
			return n
		},
		encode: func(m *T, e *Encoder, w []byte, i int, tag uint64) ([]byte, int) {
			if !isPlain(m) {
				return slowEncode(m, e, w, i, tag)
			}
			end := len(w) - i
			for k := len(fields) - 1; k >= 0; k-- {
				w, i = fields[k].put(unsafe.Pointer(m), e, w, i)
			}
			return e.Length(w, i, end, tag)
		},
		decode: func(m *T, d *Decoder, p []byte, i, depth int) (*T, int) {
			if m == nil {
				m = new(T)
			}
			j := i
			for j >= 0 && j < len(p) {
				j = readKnown(fields, unsafe.Pointer(m), p, j)
			}
			if j >= 0 {
				return m, j
			}
			return slowDecode(m, d, p, i, depth)
		},
	}
}

// A knownField is a field of a known message: a number, a text or bytes, with a tag of one byte.
type knownField struct {
	offset uintptr
	kind   reflect.Kind
	tag    byte
}

// knownWires are the wire types of kinds that are not varints.
var knownWires = map[reflect.Kind]protowire.Type{
	reflect.Float32: protowire.Fixed32Type, reflect.Float64: protowire.Fixed64Type,
	reflect.String: protowire.BytesType, reflect.Slice: protowire.BytesType,
}

// number is the field's value as its varint or its bits.
func (f *knownField) number(m unsafe.Pointer) uint64 {
	switch at := unsafe.Add(m, f.offset); f.kind {
	case reflect.Bool:
		return uint64(*(*byte)(at))
	case reflect.Int32:
		return uint64(*(*int32)(at))
	case reflect.Uint32, reflect.Float32:
		return uint64(*(*uint32)(at))
	default:
		return *(*uint64)(at)
	}
}

// text is the field's text, or its bytes, which begin with the same two words.
func (f *knownField) text(m unsafe.Pointer) string { return *(*string)(unsafe.Add(m, f.offset)) }

// size is the field's length with its tag, and 0 for what is empty.
func (f *knownField) size(m unsafe.Pointer) int {
	switch f.kind {
	case reflect.String, reflect.Slice:
		return SizeSome(1, len(f.text(m)))
	case reflect.Float32:
		return SizeIf(f.number(m) != 0, 1+4)
	case reflect.Float64:
		return SizeIf(f.number(m) != 0, 1+8)
	}
	return SizeNumber(1, f.number(m))
}

// put writes the field before w[i], unless it is empty.
func (f *knownField) put(m unsafe.Pointer, e *Encoder, w []byte, i int) ([]byte, int) {
	size := f.size(m)
	if size == 0 {
		return w, i
	}
	w, i = e.Room(w, i, size)
	switch f.kind {
	case reflect.String:
		return w, e.PutText(w, i, f.text(m), f.tag)
	case reflect.Slice:
		i = PutRawText(w, i, f.text(m))
	case reflect.Float32:
		i = PutFixed32(w, i, uint32(f.number(m)))
	case reflect.Float64:
		i = PutFixed64(w, i, f.number(m))
	default:
		i = PutVarint(w, i, f.number(m))
	}
	return w, PutByte(w, i, f.tag)
}

// readKnown sets the field whose tag is at p[i]. It returns a negative index if there is something
// else.
func readKnown(fields []knownField, m unsafe.Pointer, p []byte, i int) int {
	k := slices.IndexFunc(fields, func(f knownField) bool { return f.tag == p[i] })
	if k < 0 {
		return malformed
	}
	at := unsafe.Add(m, fields[k].offset)
	i++
	switch fields[k].kind {
	case reflect.Bool:
		*(*bool)(at), i = Bool(p, i)
	case reflect.Int32, reflect.Uint32:
		*(*uint32)(at), i = Int[uint32](p, i)
	case reflect.Int64, reflect.Uint64:
		*(*uint64)(at), i = Varint(p, i)
	case reflect.Float32:
		*(*uint32)(at), i = Fixed32[uint32](p, i)
	case reflect.Float64:
		*(*uint64)(at), i = Fixed64[uint64](p, i)
	case reflect.String:
		*(*string)(at), i = owning.Text(p, i)
	case reflect.Slice:
		*(*[]byte)(at), i = owning.Bytes(p, i)
	}
	return i
}
