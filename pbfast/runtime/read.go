package runtime

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"postage/pbfast/validutf8"
)

// Short returns where the bytes end whose length is at p[i], if that is of one byte, or 0.
func Short(p []byte, i int) int {
	if uint(i) < uint(len(p)) && p[i] < 0x80 && int(p[i]) < len(p)-i {
		return i + 1 + int(p[i])
	}
	return 0
}

// chunk reads a length and as many bytes.
func chunk(p []byte, i int) ([]byte, int) {
	n, i := Varint(p, i)
	if i < 0 || n > uint64(len(p)-i) {
		return nil, malformed
	}
	j := i + int(n)
	return p[i:j:j], j
}

// Text reads text, which must be UTF-8. Short ASCII is seen without a call, in words that overlap
// and may begin before the text.
func (d *Decoder) Text(p []byte, i int) (string, int) {
	if uint(i) >= uint(len(p)) || p[i] > 32 || i+1+int(p[i]) > len(p) || i+1+int(p[i]) < 8 {
		return d.longText(p, i)
	}
	j := i + 1 + int(p[i])
	v := p[i+1 : j]
	var high uint64 // has the highest bit of each byte
	switch n := len(v); {
	case n <= 8:
		high = binary.LittleEndian.Uint64(p[j-8:]) >> uint(64-8*n)
	case n <= 16:
		high = binary.LittleEndian.Uint64(v) | binary.LittleEndian.Uint64(v[n-8:])
	default:
		high = binary.LittleEndian.Uint64(v) | binary.LittleEndian.Uint64(v[8:]) |
			binary.LittleEndian.Uint64(v[n-16:]) | binary.LittleEndian.Uint64(v[n-8:])
	}
	if high&continued8 != 0 && !validutf8.Mixed(unsafe.String(unsafe.SliceData(v), len(v))) {
		return "", badText
	}
	return d.text(v), j
}

func (d *Decoder) longText(p []byte, i int) (string, int) {
	v, i := chunk(p, i)
	if !validutf8.Valid(v) {
		return "", badText
	}
	return d.text(v), i
}

// RawText is Text that need not be UTF-8.
func (d *Decoder) RawText(p []byte, i int) (string, int) {
	v, i := chunk(p, i)
	return d.text(v), i
}

// text is v as a string, copied if that is the mode.
func (d *Decoder) text(v []byte) string {
	if d.mode&Own != 0 {
		return string(v)
	}
	return unsafe.String(unsafe.SliceData(v), len(v))
}

// Bytes reads bytes of a field without presence.
func (d *Decoder) Bytes(p []byte, i int) ([]byte, int) { return d.bytes(p, i, nil) }

// PresentBytes reads bytes of a field with presence, or an element: never nil.
func (d *Decoder) PresentBytes(p []byte, i int) ([]byte, int) { return d.bytes(p, i, []byte{}) }

// bytes reads bytes. A copy of none is empty.
func (d *Decoder) bytes(p []byte, i int, empty []byte) ([]byte, int) {
	var v []byte
	if j := Short(p, i); j > 0 {
		v, i = p[i+1:j:j], j
	} else if v, i = chunk(p, i); i < 0 {
		return nil, i
	}
	if d.mode&Own == 0 {
		return v, i
	}
	if len(v) == 0 {
		return empty, i
	}
	own := make([]byte, len(v))
	copy(own, v)
	return own, i
}

// Append appends v to a list, unless the index j after it says that the input is refused. Elements
// with their length before have a tag, of one or two bytes, or else tag is 0: with the first of
// several, whose length is at p[i], comes room for all.
func Append[T any](list []T, v T, p []byte, i, j int, tag uint16) ([]T, int) {
	if j < 0 {
		return list, j
	}
	if len(list) == cap(list) && tag != 0 {
		list = slices.Grow(list, Run(p, i, tag))
	}
	return append(list, v), j
}

// Varint reads a varint. If the index says that the input is refused, it is 0. Generated code reads
// tags of one byte itself.
//
// Up to eight bytes are read at once: the lowest bit 7 that is not set ends the number, and its
// groups of seven bits are moved together in three steps, so that there is no branch on the length
// to mispredict.
func Varint(p []byte, i int) (uint64, int) {
	if uint(i) < uint(len(p)) && p[i] < 0x80 {
		return uint64(p[i]), i + 1
	}
	if len(p)-i >= 8 {
		x := binary.LittleEndian.Uint64(p[i:])
		if end := ^x & continued8; end != 0 {
			return gather(x & (end - 1)), i + bits.TrailingZeros64(end)/8 + 1
		}
	}
	return slowVarint(p, i)
}

// gather moves the lower seven bits of each byte together.
func gather(x uint64) uint64 {
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	return x&0x000000000fffffff | x&0x0fffffff00000000>>4
}

// continued8 are the bits of eight bytes that say that a varint goes on.
const continued8 = 0x8080808080808080

// slowVarint reads a varint of more than eight bytes, or near the end of p.
func slowVarint(p []byte, i int) (v uint64, _ int) {
	for k, b := range p[i:] {
		if k == 9 {
			if b > 1 {
				return 0, -1
			}
			return v | uint64(b)<<63, i + 10
		}
		v |= uint64(b&0x7f) << (7 * k)
		if b < 0x80 {
			return v, i + k + 1
		}
	}
	return 0, -1
}

// unZigZag is the inverse of ZigZag.
func unZigZag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

type varint interface {
	~int32 | ~int64 | ~uint32 | ~uint64
}

// Int reads a number or an enum.
func Int[T varint](p []byte, i int) (T, int) {
	v, i := Varint(p, i)
	return T(v), i
}

// Sint32 reads a sint32, of whose varint the lower half counts, as protobuf-go has it.
func Sint32(p []byte, i int) (int32, int) {
	v, i := Varint(p, i)
	return int32(unZigZag(uint64(uint32(v)))), i
}

// Sint64 reads a sint64.
func Sint64(p []byte, i int) (int64, int) {
	v, i := Varint(p, i)
	return unZigZag(v), i
}

// Bool reads a bool.
func Bool(p []byte, i int) (bool, int) {
	v, i := Varint(p, i)
	return v != 0, i
}

type fixed32 interface {
	~int32 | ~uint32 | ~float32
}

type fixed64 interface {
	~int64 | ~uint64 | ~float64
}

// Fixed32 reads a number of 4 bytes.
func Fixed32[T fixed32](p []byte, i int) (T, int) {
	if len(p)-i < 4 {
		return 0, malformed
	}
	v := binary.LittleEndian.Uint32(p[i:])
	return *(*T)(unsafe.Pointer(&v)), i + 4
}

// Fixed64 reads a number of 8 bytes.
func Fixed64[T fixed64](p []byte, i int) (T, int) {
	if len(p)-i < 8 {
		return 0, malformed
	}
	v := binary.LittleEndian.Uint64(p[i:])
	return *(*T)(unsafe.Pointer(&v)), i + 8
}
