package runtime

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

type fixed32 interface {
	~int32 | ~uint32 | ~float32
}

type fixed64 interface {
	~int64 | ~uint64 | ~float64
}

// PutFixed32s writes the elements of v before w[i], 4 bytes each.
func PutFixed32s[T fixed32](w []byte, i int, v []T) int {
	i -= 4 * len(v)
	if littleEndian {
		copy(w[i:], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v)))
		return i
	}
	for k, x := range v {
		binary.LittleEndian.PutUint32(w[i+4*k:], *(*uint32)(unsafe.Pointer(&x)))
	}
	return i
}

// PutFixed64s writes the elements of v before w[i], 8 bytes each.
func PutFixed64s[T fixed64](w []byte, i int, v []T) int {
	i -= 8 * len(v)
	if littleEndian {
		copy(w[i:], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v)))
		return i
	}
	for k, x := range v {
		binary.LittleEndian.PutUint64(w[i+8*k:], *(*uint64)(unsafe.Pointer(&x)))
	}
	return i
}

// AppendFixed32s appends the elements of a packed field.
func AppendFixed32s[T fixed32](dst []T, p []byte, i int) ([]T, int) {
	p, end := chunk(p, i)
	if len(p)%4 != 0 {
		return dst, malformed
	}
	n := len(dst)
	dst = slices.Grow(dst, len(p)/4)[:n+len(p)/4]
	into := dst[n:]
	if littleEndian {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(into))), len(p)), p)
		return dst, end
	}
	for k := range into {
		*(*uint32)(unsafe.Pointer(&into[k])) = binary.LittleEndian.Uint32(p[4*k:])
	}
	return dst, end
}

// AppendFixed64s appends the elements of a packed field.
func AppendFixed64s[T fixed64](dst []T, p []byte, i int) ([]T, int) {
	p, end := chunk(p, i)
	if len(p)%8 != 0 {
		return dst, malformed
	}
	n := len(dst)
	dst = slices.Grow(dst, len(p)/8)[:n+len(p)/8]
	into := dst[n:]
	if littleEndian {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(into))), len(p)), p)
		return dst, end
	}
	for k := range into {
		*(*uint64)(unsafe.Pointer(&into[k])) = binary.LittleEndian.Uint64(p[8*k:])
	}
	return dst, end
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
