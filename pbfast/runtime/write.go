package runtime

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

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

// PutFixed32 writes v before w[i].
func PutFixed32(w []byte, i int, v uint32) int {
	i -= 4
	binary.LittleEndian.PutUint32(w[i:], v)
	return i
}

// PutFixed64 writes v before w[i].
func PutFixed64(w []byte, i int, v uint64) int {
	i -= 8
	binary.LittleEndian.PutUint64(w[i:], v)
	return i
}

// PutRawText writes v before w[i], with its length before. It need not be UTF-8.
func PutRawText(w []byte, i int, v string) int {
	i -= len(v)
	copy(w[i:], v)
	return PutVarint(w, i, uint64(len(v)))
}

// Grow makes room for n more bytes.
func Grow(b []byte, n int) []byte { return slices.Grow(b, n) }

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

// AppendByte appends v.
func AppendByte(b []byte, v byte) []byte { return append(b, v) }

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
