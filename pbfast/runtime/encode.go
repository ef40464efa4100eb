package runtime

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoiface"
)

// smallBytes is how much of a message is written before its size is computed. A shorter message is
// written at the end of the buffer and moved down once; for a longer one the size says where to
// write.
const smallBytes = 4096

// An Encoder holds the state of one encoding.
//
// A message is written from its last byte to its first, so that the length of a part is known when
// it has to be written. Generated functions pass on the window w, which ends where the message
// ends, and i, the index of the first byte written: w[:i] is free. They ask Grow for room once for
// a group of fields.
type Encoder struct {
	// Flags are those of the call.
	Flags protoiface.MarshalInputFlags

	buf   []byte // all of it, to its capacity
	start int    // where the message is to begin: before it is the caller's
	root  sizer  // until the size has been asked for
	err   error
}

// A sizer knows the length of its encoding in bytes.
type sizer interface{ SizeOf() int }

// Start returns the arguments with which a message is encoded that is to be appended to b.
func (e *Encoder) Start(b []byte, root sizer) (*Encoder, []byte, int, uint64) {
	e.buf, e.start, e.root = b[:cap(b)], len(b), root
	i := min(cap(b)-len(b), smallBytes)
	return e, e.buf[e.start : e.start+i : e.start+i], i, 0
}

// StartSized is Start for a message of the given size.
func (e *Encoder) StartSized(b []byte, size int) (*Encoder, []byte, int, uint64) {
	b = slices.Grow(b, size)
	e.buf, e.start = b[:cap(b)], len(b)
	return e, e.buf[e.start : e.start+size : e.start+size], size, 0
}

// startCached is StartSized if the size is in cache, else Start.
func (e *Encoder) startCached(b []byte, root sizer, cache *int32) (*Encoder, []byte, int, uint64) {
	if size, ok := cachedSize(cache, e.Flags); ok {
		return e.StartSized(b, size)
	}
	return e.Start(b, root)
}

// cachedSize returns the size in a message's cache, if the flags allow its use. As in protobuf-go,
// the cache holds the size plus one.
func cachedSize(cache *int32, flags protoiface.MarshalInputFlags) (int, bool) {
	if cache == nil || flags&protoiface.MarshalUseCachedSize == 0 {
		return 0, false
	}
	size := atomic.LoadInt32(cache)
	return int(size) - 1, size > 0
}

// cacheSize puts a size into a message's cache.
func cacheSize(cache *int32, size int) {
	if size >= math.MaxInt32 {
		size = -1
	}
	atomic.StoreInt32(cache, int32(size+1))
}

// Into returns the arguments with which a message is encoded to the end of b.
func (e *Encoder) Into(b []byte) (*Encoder, []byte, int, uint64) { return e, b, len(b), 0 }

// Written returns the length of a message that was written to the end of a window.
func (e *Encoder) Written(w []byte, i int) (int, error) { return len(w) - i, e.err }

// Finish returns the caller's bytes with the message after them.
func (e *Encoder) Finish(w []byte, i int) ([]byte, error) {
	if e.err != nil {
		return e.buf[:e.start], e.err
	}
	if i > 0 {
		copy(w, w[i:])
	}
	return e.buf[:e.start+len(w)-i], nil
}

// Room makes room for need bytes, the most that a group of fields can take. Afterwards there is
// room for the rest of the message, even if that is less than need.
func (e *Encoder) Room(w []byte, i, need int) ([]byte, int) {
	if i < need {
		return e.grow(w, i)
	}
	return w, i
}

// grow makes room for the rest of the message.
func (e *Encoder) grow(w []byte, i int) ([]byte, int) {
	if e.root == nil {
		return w, i
	}
	size := e.root.SizeOf()
	e.root = nil
	return e.widen(w, i, max(size, len(w)-i))
}

// widen makes the window size bytes long.
func (e *Encoder) widen(w []byte, i, size int) ([]byte, int) {
	written := w[i:]
	if e.start+size > len(e.buf) {
		// The room beyond is for the next message of about this size, into the same buffer.
		buf := make([]byte, e.start+size+size/8+64)
		copy(buf, e.buf[:e.start])
		e.buf = buf
	}
	w = e.buf[e.start : e.start+size : e.start+size]
	copy(w[size-len(written):], written)
	return w, size - len(written)
}

// room is Room for need bytes that are sure to be written.
func (e *Encoder) room(w []byte, i, need int) ([]byte, int) {
	if i < need {
		w, i = e.grow(w, i)
	}
	if i < need {
		w, i = e.widen(w, i, len(w)+need-i)
	}
	return w, i
}

func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// Deterministic says whether maps are written in the order of their keys.
func (e *Encoder) Deterministic() bool { return e.Flags&protoiface.MarshalDeterministic != 0 }

// Fallback writes m with protobuf-go: generated code leaves messages that have extensions to it.
func (e *Encoder) Fallback(w []byte, i int, m proto.Message) ([]byte, int) {
	r := m.ProtoReflect()
	methods := Original(r)
	// With MarshalUseCachedSize the size is that which the caller's call of Size left in r: asked
	// for anew at each level, a deep message would take time of its depth's square.
	size := methods.Size(protoiface.SizeInput{Message: r, Flags: e.Flags}).Size
	w, i = e.room(w, i, size)
	out, err := methods.Marshal(protoiface.MarshalInput{
		Message: r,
		Buf:     w[i-size : i-size : i],
		Flags:   e.Flags | protoiface.MarshalUseCachedSize,
	})
	return e.take(w, i, size, out.Buf, err)
}

// Foreign writes m, whose code another generator made, by proto.MarshalAppend, with its length and
// tag before.
func (e *Encoder) Foreign(w []byte, i int, m proto.Message, tag uint64) ([]byte, int) {
	o := proto.MarshalOptions{AllowPartial: true, Deterministic: e.Deterministic(), UseCachedSize: e.Flags&protoiface.MarshalUseCachedSize != 0}
	size := o.Size(m)
	w, i = e.room(w, i, size)
	o.UseCachedSize = true
	out, err := o.MarshalAppend(w[i-size:i-size:i], m)
	end := len(w) - i
	w, i = e.take(w, i, size, out, err)
	return e.Length(w, i, end, tag)
}

// Length writes the length of a message, which ends at len(w)-end, and its tag before it, unless
// that is 0: a message that is in no other has neither.
func (e *Encoder) Length(w []byte, i, end int, tag uint64) ([]byte, int) {
	if n := len(w) - i - end; i >= 2 && n < 0x80 && tag-1 < 0x7f {
		head := w[i-2 : i]
		head[0], head[1] = byte(tag), byte(n)
		return w, i - 2
	}
	return e.longLength(w, i, end, tag)
}

func (e *Encoder) longLength(w []byte, i, end int, tag uint64) ([]byte, int) {
	if tag == 0 {
		return w, i
	}
	w, i = e.Room(w, i, 15)
	return w, PutVarint(w, PutVarint(w, i, uint64(len(w)-i-end)), tag)
}

// Unknown writes a message's unknown fields.
func (e *Encoder) Unknown(w []byte, i int, fields []byte) ([]byte, int) {
	if len(fields) == 0 {
		return w, i
	}
	return e.unknown(w, i, fields)
}

func (e *Encoder) unknown(w []byte, i int, fields []byte) ([]byte, int) {
	w, i = e.Room(w, i, len(fields))
	i -= len(fields)
	copy(w[i:], fields)
	return w, i
}

// take makes sure that out is at w[i-size:i].
func (e *Encoder) take(w []byte, i, size int, out []byte, err error) ([]byte, int) {
	if err != nil {
		e.fail(err)
		return w, i
	}
	if len(out) != size { // lazily decoded parts may be shorter than their size
		w, i = e.room(w, i, len(out))
		copy(w[i-len(out):], out)
	}
	return w, i - len(out)
}

// ForeignSize is the size of what Foreign writes.
func ForeignSize(m proto.Message) int { return proto.Size(m) }

// FallbackSize is the size of what Fallback writes.
func FallbackSize(m proto.Message) int {
	r := m.ProtoReflect()
	return Original(r).Size(protoiface.SizeInput{Message: r}).Size
}

// SizeVarint is the length of v as a varint: 1 to 10 bytes.
func SizeVarint(v uint64) int { return int(9*uint32(bits.Len64(v))+64) / 64 }

// SizeBytes is the length of n bytes with their length before.
func SizeBytes(n int) int { return n + SizeVarint(uint64(n)) }

// SizeSome is SizeBytes with a tag of the given size, and 0 if there are none.
func SizeSome(tag, n int) int {
	if n == 0 {
		return 0
	}
	return tag + n + SizeVarint(uint64(n))
}

// SizeNumber is the length of v as a varint with a tag of the given size, and 0 if v is 0.
func SizeNumber(tag int, v uint64) int {
	if v == 0 {
		return 0
	}
	return tag + SizeVarint(v)
}

// SizeIf is n if the field is there.
func SizeIf(there bool, n int) int {
	if there {
		return n
	}
	return 0
}

// PutVarint writes v before w[i] and returns where it begins.
func PutVarint(w []byte, i int, v uint64) int {
	if v < 0x80 {
		w[i-1] = byte(v)
		return i - 1
	}
	return putVarint(w, i, v)
}

// PutByte writes a tag of one byte before w[i].
func PutByte(w []byte, i int, tag byte) int {
	i--
	w[i] = tag
	return i
}

// PutTwo writes a tag of two bytes before w[i].
func PutTwo(w []byte, i int, tag uint16) int {
	i -= 2
	binary.LittleEndian.PutUint16(w[i:], tag)
	return i
}

// PutRawText writes v before w[i], with its length before. It need not be UTF-8.
func PutRawText(w []byte, i int, v string) int {
	i -= len(v)
	copy(w[i:], v)
	return PutVarint(w, i, uint64(len(v)))
}

//go:noinline
func putVarint(w []byte, i int, v uint64) int {
	i -= SizeVarint(v)
	for j := i; ; j++ {
		if v < 0x80 {
			w[j] = byte(v)
			return i
		}
		w[j] = byte(v) | 0x80
		v >>= 7
	}
}

// AppendVarint appends v.
func AppendVarint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// AppendFixed32 appends v.
func AppendFixed32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }

// AppendFixed64 appends v.
func AppendFixed64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// ZigZag maps signed to unsigned as sint32 and sint64 do: 0, -1, 1, -2 to 0, 1, 2, 3.
func ZigZag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// Bit is 1 for true.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

type varint interface {
	~int32 | ~int64 | ~uint32 | ~uint64
}

// PutVarints writes the elements of v before w[i]. There must be room.
func PutVarints[T varint](w []byte, i int, v []T) int {
	for k := len(v) - 1; k >= 0; k-- {
		i = PutVarint(w, i, uint64(int64(v[k])))
	}
	return i
}

// SizeVarints is the length of what PutVarints writes.
func SizeVarints[T varint](v []T) (n int) {
	for _, x := range v {
		n += SizeVarint(uint64(int64(x)))
	}
	return n
}

// PutZigZags is PutVarints for sint32 and sint64.
func PutZigZags[T ~int32 | ~int64](w []byte, i int, v []T) int {
	for k := len(v) - 1; k >= 0; k-- {
		i = PutVarint(w, i, ZigZag(int64(v[k])))
	}
	return i
}

// SizeZigZags is the length of what PutZigZags writes.
func SizeZigZags[T ~int32 | ~int64](v []T) (n int) {
	for _, x := range v {
		n += SizeVarint(ZigZag(int64(x)))
	}
	return n
}

// PutBools writes the elements of v before w[i].
func PutBools(w []byte, i int, v []bool) int {
	for k := len(v) - 1; k >= 0; k-- {
		i--
		w[i] = byte(Bit(v[k]))
	}
	return i
}

// SortedKeys returns the map's keys in the order in which deterministic encoding has them.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// SortedBools is SortedKeys for a map from bool: false before true.
func SortedBools[V any](m map[bool]V) []bool {
	keys := make([]bool, 0, 2)
	for _, k := range [...]bool{false, true} {
		if _, ok := m[k]; ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// Errors of encoding and decoding. All are [proto.Error].
var (
	errUTF8 = failure{errors.New("string field contains invalid UTF-8")}
	// ErrMalformed is the error of input that is not in the wire format.
	ErrMalformed error = failure{errors.New("cannot parse invalid wire-format data")}
	// ErrUTF8 is the error of text that is not UTF-8.
	ErrUTF8 error = errUTF8
	// ErrDepth is the error of messages nested deeper than the limit.
	ErrDepth error = failure{errors.New("exceeded maximum recursion depth")}
)

type failure struct{ cause error }

func (f failure) Error() string        { return "pbfast: " + f.cause.Error() }
func (f failure) Is(target error) bool { return target == proto.Error }
