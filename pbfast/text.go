package pbfast

import (
	"encoding/binary"
	"unsafe"

	"postage/pbfast/validutf8"
)

const (
	ascii8 = 0x8080808080808080
	ascii4 = 0x80808080
)

// PutText writes s before w[i], with its length and, unless it is 0, a tag of one byte before. Text
// that is not UTF-8 is an error of Finish. Short text is checked while it is copied, in words that
// overlap.
func (e *Encoder) PutText(w []byte, i int, s string, tag byte) int {
	src := unsafe.Slice(unsafe.StringData(s), len(s))
	n := len(src)
	if n > 32 {
		return e.putLongText(w, i, src, tag)
	}
	i -= n
	dst := w[i : i+n]
	var high uint64
	switch {
	case n >= 16:
		a, b := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])
		c, d := binary.LittleEndian.Uint64(src[n-16:]), binary.LittleEndian.Uint64(src[n-8:])
		binary.LittleEndian.PutUint64(dst, a)
		binary.LittleEndian.PutUint64(dst[8:], b)
		binary.LittleEndian.PutUint64(dst[n-16:], c)
		binary.LittleEndian.PutUint64(dst[n-8:], d)
		high = a | b | c | d
	case n >= 8:
		a, b := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[n-8:])
		binary.LittleEndian.PutUint64(dst, a)
		binary.LittleEndian.PutUint64(dst[n-8:], b)
		high = a | b
	case n >= 4:
		a, b := binary.LittleEndian.Uint32(src), binary.LittleEndian.Uint32(src[n-4:])
		binary.LittleEndian.PutUint32(dst, a)
		binary.LittleEndian.PutUint32(dst[n-4:], b)
		high = uint64(a|b) & ascii4
	default:
		for k, b := range src {
			dst[k] = b
			high |= uint64(b)
		}
	}
	if high&ascii8 != 0 && !validutf8.Valid(src) {
		e.fail(errUTF8)
	}
	i--
	w[i] = byte(n)
	if tag != 0 {
		i--
		w[i] = tag
	}
	return i
}

func (e *Encoder) putLongText(w []byte, i int, src []byte, tag byte) int {
	if !validutf8.Valid(src) {
		e.fail(errUTF8)
	}
	i -= len(src)
	copy(w[i:], src)
	i = PutVarint(w, i, uint64(len(src)))
	if tag != 0 {
		i--
		w[i] = tag
	}
	return i
}
