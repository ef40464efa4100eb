package runtime

import (
	"encoding/binary"

	"postage/pbfast/validutf8"
)

// PutText writes s before w[i], with its length and, unless it is 0, a tag of one byte before. Text
// that is not UTF-8 is an error of Finish. Short text is checked while it is copied, in words that
// overlap.
func (e *Encoder) PutText(w []byte, i int, s string, tag byte) int {
	n := len(s)
	if n > 32 {
		return e.putLongText(w, i, s, tag)
	}
	i -= n
	src, dst := []byte(s), w[i:][:n:n]
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
		high = uint64(a | b)
	case n > 0:
		a, b, c := s[0], s[n/2], s[n-1]
		dst[0], dst[n/2], dst[n-1] = a, b, c
		high = uint64(a | b | c)
	}
	if high&continued8 != 0 && !validutf8.Mixed(s) {
		e.fail(errUTF8)
	}
	if tag == 0 {
		w[i-1] = byte(n)
		return i - 1
	}
	head := w[i-2 : i]
	head[0], head[1] = tag, byte(n)
	return i - 2
}

func (e *Encoder) putLongText(w []byte, i int, s string, tag byte) int {
	if !validutf8.String(s) {
		e.fail(errUTF8)
	}
	i -= len(s)
	copy(w[i:], s)
	i = PutVarint(w, i, uint64(len(s)))
	if tag != 0 {
		i--
		w[i] = tag
	}
	return i
}
