package runtime

import (
	"math"
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// This file is for messages that come with protobuf-go, for which nobody generates code: points in
// time, durations and wrappers.

const (
	varintTag  = 1 << 3
	fixed64Tag = 1<<3 | 1
	bytesTag   = 1<<3 | 2
	fixed32Tag = 1<<3 | 5
	nanosTag   = 2 << 3
	dataTag    = 2<<3 | 2
)

var knownTypes = map[reflect.Type]any{
	reflect.TypeFor[timestamppb.Timestamp](): spanType(func(m *timestamppb.Timestamp) (*int64, *int32) { return &m.Seconds, &m.Nanos }),
	reflect.TypeFor[durationpb.Duration]():   spanType(func(m *durationpb.Duration) (*int64, *int32) { return &m.Seconds, &m.Nanos }),
	reflect.TypeFor[wrapperspb.BoolValue](): numberType(varintTag,
		func(m *wrapperspb.BoolValue) uint64 { return uint64(Bit(m.Value)) },
		func(m *wrapperspb.BoolValue, v uint64) { m.Value = v != 0 }),
	reflect.TypeFor[wrapperspb.Int32Value](): numberType(varintTag,
		func(m *wrapperspb.Int32Value) uint64 { return uint64(m.Value) },
		func(m *wrapperspb.Int32Value, v uint64) { m.Value = int32(v) }),
	reflect.TypeFor[wrapperspb.UInt32Value](): numberType(varintTag,
		func(m *wrapperspb.UInt32Value) uint64 { return uint64(m.Value) },
		func(m *wrapperspb.UInt32Value, v uint64) { m.Value = uint32(v) }),
	reflect.TypeFor[wrapperspb.Int64Value](): numberType(varintTag,
		func(m *wrapperspb.Int64Value) uint64 { return uint64(m.Value) },
		func(m *wrapperspb.Int64Value, v uint64) { m.Value = int64(v) }),
	reflect.TypeFor[wrapperspb.UInt64Value](): numberType(varintTag,
		func(m *wrapperspb.UInt64Value) uint64 { return m.Value },
		func(m *wrapperspb.UInt64Value, v uint64) { m.Value = v }),
	reflect.TypeFor[wrapperspb.FloatValue](): numberType(fixed32Tag,
		func(m *wrapperspb.FloatValue) uint64 { return uint64(math.Float32bits(m.Value)) },
		func(m *wrapperspb.FloatValue, v uint64) { m.Value = math.Float32frombits(uint32(v)) }),
	reflect.TypeFor[wrapperspb.DoubleValue](): numberType(fixed64Tag,
		func(m *wrapperspb.DoubleValue) uint64 { return math.Float64bits(m.Value) },
		func(m *wrapperspb.DoubleValue, v uint64) { m.Value = math.Float64frombits(v) }),
	reflect.TypeFor[wrapperspb.StringValue](): textType(func(m *wrapperspb.StringValue) (*string, *[]byte) { return &m.Value, &noData }),
	reflect.TypeFor[anypb.Any]():              textType(func(m *anypb.Any) (*string, *[]byte) { return &m.TypeUrl, &m.Value }),
}

// knownType makes a type of functions for a message that is not nil and has no unknown fields. read
// says whether it could read all of its input. Otherwise protobuf-go decodes it from its beginning.
func knownType[T any](size func(*T) int, put func(*T, *Encoder, []byte, int) ([]byte, int), read func(*T, []byte) bool) *Type[T] {
	unknown, found := reflect.TypeFor[T]().FieldByName("unknownFields")
	if !found || unknown.Type.Kind() != reflect.Slice {
		return &Type[T]{slowSize[T], slowEncode[T], slowDecode[T], true}
	}
	at := unknown.Offset
	return &Type[T]{
		size: func(m *T) int {
			if m == nil || len(*(*[]byte)(unsafe.Add(unsafe.Pointer(m), at))) > 0 {
				return slowSize(m)
			}
			return size(m)
		},
		encode: func(m *T, e *Encoder, w []byte, i int, tag uint64) ([]byte, int) {
			if m == nil || len(*(*[]byte)(unsafe.Add(unsafe.Pointer(m), at))) > 0 {
				return slowEncode(m, e, w, i, tag)
			}
			end := len(w) - i
			w, i = put(m, e, w, i)
			return e.Length(w, i, end, tag)
		},
		decode: func(m *T, d *Decoder, p []byte, i, depth int) (*T, int) {
			if m == nil {
				m = new(T)
			}
			if i >= 0 && read(m, p[i:]) {
				return m, len(p)
			}
			return slowDecode(m, d, p, i, depth)
		},
	}
}

// spanType is for points in time and durations.
func spanType[T any](fields func(*T) (seconds *int64, nanos *int32)) *Type[T] {
	size := func(m *T) int {
		seconds, nanos := fields(m)
		return SizeNumber(1, uint64(*seconds)) + SizeNumber(1, uint64(*nanos))
	}
	put := func(m *T, e *Encoder, w []byte, i int) ([]byte, int) {
		seconds, nanos := fields(m)
		w, i = e.Room(w, i, 40)
		if *nanos != 0 {
			i = PutByte(w, PutVarint(w, i, uint64(*nanos)), nanosTag)
		}
		if *seconds != 0 {
			i = PutByte(w, PutVarint(w, i, uint64(*seconds)), varintTag)
		}
		return w, i
	}
	read := func(m *T, p []byte) bool {
		seconds, nanos := fields(m)
		for i := 0; i < len(p); {
			v, end := Varint(p, i+1)
			switch {
			case end < 0:
				return false
			case p[i] == varintTag:
				*seconds = int64(v)
			case p[i] == nanosTag:
				*nanos = int32(v)
			default:
				return false
			}
			i = end
		}
		return true
	}
	return knownType(size, put, read)
}

// numberType is for a message of one number, whose tag is given.
func numberType[T any](tag byte, get func(*T) uint64, set func(*T, uint64)) *Type[T] {
	size := func(m *T) int {
		v := get(m)
		switch tag {
		case fixed32Tag:
			return SizeIf(v != 0, 1+4)
		case fixed64Tag:
			return SizeIf(v != 0, 1+8)
		}
		return SizeNumber(1, v)
	}
	put := func(m *T, e *Encoder, w []byte, i int) ([]byte, int) {
		w, i = e.Room(w, i, 30)
		v := get(m)
		switch {
		case v == 0:
			return w, i
		case tag == fixed32Tag:
			i = PutFixed32(w, i, uint32(v))
		case tag == fixed64Tag:
			i = PutFixed64(w, i, v)
		default:
			i = PutVarint(w, i, v)
		}
		return w, PutByte(w, i, tag)
	}
	read := func(m *T, p []byte) bool {
		if len(p) == 0 {
			return true
		}
		var v uint64
		var end int
		switch tag {
		case fixed32Tag:
			var word uint32
			word, end = Fixed32[uint32](p, 1)
			v = uint64(word)
		case fixed64Tag:
			v, end = Fixed64[uint64](p, 1)
		default:
			v, end = Varint(p, 1)
		}
		if p[0] != tag || end != len(p) {
			return false
		}
		set(m, v)
		return true
	}
	return knownType(size, put, read)
}

// noData stands for the bytes of a message that has none.
var noData []byte

// textType is for a message of text, and perhaps of bytes in field 2.
func textType[T any](fields func(*T) (text *string, data *[]byte)) *Type[T] {
	size := func(m *T) int {
		text, data := fields(m)
		return SizeSome(1, len(*text)) + SizeSome(1, len(*data))
	}
	put := func(m *T, e *Encoder, w []byte, i int) ([]byte, int) {
		text, data := fields(m)
		w, i = e.Room(w, i, 40+len(*text)+len(*data))
		if len(*data) > 0 {
			i -= len(*data)
			copy(w[i:], *data)
			i = PutByte(w, PutVarint(w, i, uint64(len(*data))), dataTag)
		}
		if len(*text) > 0 {
			i = e.PutText(w, i, *text, bytesTag)
		}
		return w, i
	}
	read := func(m *T, p []byte) bool {
		text, data := fields(m)
		for i := 0; i < len(p); {
			switch {
			case p[i] == bytesTag:
				*text, i = owning.Text(p, i+1)
			case p[i] == dataTag && data != &noData:
				*data, i = owning.Bytes(p, i+1)
			default:
				return false
			}
			if i < 0 {
				return false
			}
		}
		return true
	}
	return knownType(size, put, read)
}
