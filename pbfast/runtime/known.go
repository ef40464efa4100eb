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

// A known message has a value as field 1, and may have another as field 2.
type known struct {
	tag   byte // of field 1, with its wire type
	value uint64
	nanos int32
	text  string
	data  []byte // field 2 of Any
}

const (
	varintTag  = 1 << 3
	fixed64Tag = 1<<3 | 1
	bytesTag   = 1<<3 | 2
	fixed32Tag = 1<<3 | 5
	nanosTag   = 2 << 3
	dataTag    = 2<<3 | 2
)

// knownOf returns what a message holds, unless it is of another type or holds unknown fields.
func knownOf(m any) (k known, ok bool) {
	switch m := m.(type) {
	case *timestamppb.Timestamp:
		return known{tag: varintTag, value: uint64(m.GetSeconds()), nanos: m.GetNanos()}, lacksUnknown(m, spanUnknown)
	case *durationpb.Duration:
		return known{tag: varintTag, value: uint64(m.GetSeconds()), nanos: m.GetNanos()}, lacksUnknown(m, spanUnknown)
	case *wrapperspb.BoolValue:
		return known{tag: varintTag, value: uint64(Bit(m.GetValue()))}, lacksUnknown(m, narrowUnknown)
	case *wrapperspb.Int32Value:
		return known{tag: varintTag, value: uint64(m.GetValue())}, lacksUnknown(m, narrowUnknown)
	case *wrapperspb.UInt32Value:
		return known{tag: varintTag, value: uint64(m.GetValue())}, lacksUnknown(m, narrowUnknown)
	case *wrapperspb.Int64Value:
		return known{tag: varintTag, value: uint64(m.GetValue())}, lacksUnknown(m, wideUnknown)
	case *wrapperspb.UInt64Value:
		return known{tag: varintTag, value: m.GetValue()}, lacksUnknown(m, wideUnknown)
	case *wrapperspb.FloatValue:
		return known{tag: fixed32Tag, value: uint64(math.Float32bits(m.GetValue()))}, lacksUnknown(m, narrowUnknown)
	case *wrapperspb.DoubleValue:
		return known{tag: fixed64Tag, value: math.Float64bits(m.GetValue())}, lacksUnknown(m, wideUnknown)
	case *wrapperspb.StringValue:
		return known{tag: bytesTag, text: m.GetValue()}, lacksUnknown(m, stringUnknown)
	case *anypb.Any:
		return known{tag: bytesTag, text: m.GetTypeUrl(), data: m.GetValue()}, lacksUnknown(m, anyUnknown)
	}
	return k, false
}

// Where the unknown fields of messages are. Messages with values of one size are alike.
var (
	spanUnknown   = unknownIn[timestamppb.Timestamp]()
	narrowUnknown = unknownIn[wrapperspb.Int32Value]()
	wideUnknown   = unknownIn[wrapperspb.Int64Value]()
	stringUnknown = unknownIn[wrapperspb.StringValue]()
	anyUnknown    = unknownIn[anypb.Any]()
)

func unknownIn[T any]() uintptr {
	f, ok := reflect.TypeFor[T]().FieldByName("unknownFields")
	if !ok || f.Type.Kind() != reflect.Slice {
		return 0
	}
	return f.Offset
}

// lacksUnknown says whether a message is sure to have no unknown fields.
func lacksUnknown[T any](m *T, at uintptr) bool {
	return m == nil || at != 0 && len(*(*[]byte)(unsafe.Add(unsafe.Pointer(m), at))) == 0
}

func (k known) size() (n int) {
	switch {
	case k.tag == bytesTag:
		n = SizeSome(1, len(k.text))
	case k.value == 0:
	case k.tag == varintTag:
		n = 1 + SizeVarint(k.value)
	case k.tag == fixed32Tag:
		n = 1 + 4
	default:
		n = 1 + 8
	}
	return n + SizeNumber(1, uint64(k.nanos)) + SizeSome(1, len(k.data))
}

// putKnown writes the message with its length and the given tag before.
func (e *Encoder) putKnown(w []byte, i int, k known, tag uint64) ([]byte, int) {
	w, i = e.Room(w, i, 48+len(k.text)+len(k.data))
	end := len(w) - i
	if len(k.data) > 0 {
		i -= len(k.data)
		copy(w[i:], k.data)
		i = PutByte(w, PutVarint(w, i, uint64(len(k.data))), dataTag)
	}
	if k.nanos != 0 {
		i = PutByte(w, PutVarint(w, i, uint64(k.nanos)), nanosTag)
	}
	switch {
	case len(k.text) > 0:
		i = e.PutText(w, i, k.text, k.tag)
	case k.value == 0:
	case k.tag == varintTag:
		i = PutByte(w, PutVarint(w, i, k.value), k.tag)
	case k.tag == fixed32Tag:
		i = PutByte(w, PutFixed32(w, i, uint32(k.value)), k.tag)
	default:
		i = PutByte(w, PutFixed64(w, i, k.value), k.tag)
	}
	return e.Length(w, i, end, tag)
}

// readKnown merges p into a message and says whether that was possible: p may hold something else,
// and is then to be decoded from its beginning.
func readKnown(m any, p []byte) bool {
	switch m := m.(type) {
	case *timestamppb.Timestamp:
		return readSpan(p, &m.Seconds, &m.Nanos)
	case *durationpb.Duration:
		return readSpan(p, &m.Seconds, &m.Nanos)
	case *wrapperspb.BoolValue:
		return readValue(p, varintTag, &m.Value, Bool)
	case *wrapperspb.Int32Value:
		return readValue(p, varintTag, &m.Value, Int[int32])
	case *wrapperspb.UInt32Value:
		return readValue(p, varintTag, &m.Value, Int[uint32])
	case *wrapperspb.Int64Value:
		return readValue(p, varintTag, &m.Value, Int[int64])
	case *wrapperspb.UInt64Value:
		return readValue(p, varintTag, &m.Value, Varint)
	case *wrapperspb.FloatValue:
		return readValue(p, fixed32Tag, &m.Value, Fixed32[float32])
	case *wrapperspb.DoubleValue:
		return readValue(p, fixed64Tag, &m.Value, Fixed64[float64])
	case *wrapperspb.StringValue:
		return readValue(p, bytesTag, &m.Value, owning.Text)
	case *anypb.Any:
		return readAny(p, m)
	}
	return false
}

func readSpan(p []byte, seconds *int64, nanos *int32) bool {
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

func readValue[V any](p []byte, tag byte, into *V, read func([]byte, int) (V, int)) bool {
	if len(p) == 0 {
		return true
	}
	v, end := read(p, 1)
	if p[0] != tag || end != len(p) {
		return false
	}
	*into = v
	return true
}

func readAny(p []byte, m *anypb.Any) bool {
	for i := 0; i < len(p); {
		switch p[i] {
		case bytesTag:
			m.TypeUrl, i = owning.Text(p, i+1)
		case dataTag:
			m.Value, i = owning.Bytes(p, i+1)
		default:
			return false
		}
		if i < 0 {
			return false
		}
	}
	return true
}
