package runtime

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"
)

// This file is for packed lists.

// varints counts the varints in p.
func varints(p []byte) (n int) {
	for ; len(p) >= 8; p = p[8:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(p) & continued8)
	}
	for _, b := range p {
		n += int(^b >> 7)
	}
	return n
}

// AppendVarints appends the elements of a packed field. It guesses that each is as long as the one
// before, so that the processor can start on the next without waiting for the length.
func AppendVarints[T varint](dst []T, p []byte, i int) ([]T, int) {
	p, end := chunk(p, i)
	if end < 0 {
		return dst, end
	}
	n := len(dst)
	dst = slices.Grow(dst, varints(p))
	into := dst[n:cap(dst)] // of at least as many elements as p has bytes that end a varint
	k, i := 0, 0
	upTo, last, width := uint64(0), uint64(1), 0 // the varint's bits in the word, and the highest of them; none fits at first
	for ; len(p)-i >= 8; k++ {
		x := binary.LittleEndian.Uint64(p[i:])
		ends := ^x & continued8
		if ends&upTo != last {
			if ends == 0 { // it is longer than the word
				var v uint64
				if v, i = slowVarint(p, i); i < 0 {
					return dst, malformed
				}
				into[k] = T(v)
				continue
			}
			last = ends & -ends
			upTo = last | (last - 1)
			width = bits.TrailingZeros64(last)/8 + 1
		}
		into[k] = T(gather(x & upTo))
		i += width
	}
	for ; i < len(p); k++ {
		var v uint64
		if v, i = slowVarint(p, i); i < 0 {
			return dst, malformed
		}
		into[k] = T(v)
	}
	return dst[:n+k], end
}

// AppendZigZags appends the elements of a packed field of sint32 or sint64.
func AppendZigZags[T ~int32 | ~int64](dst []T, p []byte, i int) ([]T, int) {
	n := len(dst)
	dst, i = AppendVarints(dst, p, i)
	if i < 0 {
		return dst, i
	}
	for k, v := range dst[n:] {
		// Of a sint32 the lower half of the varint counts, as protobuf-go has it.
		if unsafe.Sizeof(v) == 4 {
			dst[n+k] = T(unZigZag(uint64(uint32(v))))
		} else {
			dst[n+k] = T(unZigZag(uint64(v)))
		}
	}
	return dst, i
}

// AppendBools appends the elements of a packed field.
func AppendBools(dst []bool, p []byte, i int) ([]bool, int) {
	p, end := chunk(p, i)
	dst = slices.Grow(dst, varints(p))
	for i := 0; i < len(p); {
		var v uint64
		if v, i = Varint(p, i); i < 0 {
			return dst, malformed
		}
		dst = append(dst, v != 0)
	}
	return dst, end
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

// A fixed is a number of 4 bytes, or of 8.
type fixed interface{ fixed32 | fixed64 }

// PutFixeds writes the elements of v before w[i].
func PutFixeds[T fixed](w []byte, i int, v []T) int {
	from := memory(v)
	i -= len(from)
	copyFixeds[T](w[i:], from)
	return i
}

// AppendFixeds appends the elements of a packed field.
func AppendFixeds[T fixed](dst []T, p []byte, i int) ([]T, int) {
	p, end := chunk(p, i)
	n, size := len(dst), int(unsafe.Sizeof(*new(T)))
	if len(p)%size != 0 {
		return dst, malformed
	}
	dst = slices.Grow(dst, len(p)/size)[:n+len(p)/size]
	copyFixeds[T](memory(dst[n:]), p)
	return dst, end
}

// memory is where the elements of v are.
func memory[T fixed](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))
}

// bigEndian says that numbers in memory have their bytes in the other order than on the wire.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// copyFixeds copies numbers from memory to the wire, or back.
func copyFixeds[T fixed](dst, src []byte) {
	copy(dst, src)
	if bigEndian {
		for p := dst[:len(src)]; len(p) > 0; p = p[unsafe.Sizeof(*new(T)):] {
			slices.Reverse(p[:unsafe.Sizeof(*new(T))])
		}
	}
}
