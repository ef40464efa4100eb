// Package validutf8 tells whether text is UTF-8, on amd64 several times as fast as [unicode/utf8]
// where the text is not all ASCII:
//
//	if !validutf8.Valid(text) {
//		return errors.New("the text is not UTF-8")
//	}
//
// It accepts what that package accepts: RFC 3629, so no surrogates, nothing beyond U+10FFFF and no
// overlong forms. ASCII is checked eight bytes at a time, until the first byte that is not ASCII.
// Assembly checks the rest sixteen bytes at a time. On other processors, and with the build tag
// purego, unicode/utf8 does.
package validutf8

import "encoding/binary"

const (
	ascii8 = 0x8080808080808080
	ascii4 = 0x80808080
)

// Valid reports whether p is UTF-8.
func Valid(p []byte) bool {
	switch n := len(p); {
	case n > 32:
		for rest := p; len(rest) >= 8; rest = rest[8:] {
			if binary.LittleEndian.Uint64(rest)&ascii8 != 0 {
				return mixed(rest)
			}
		}
		// The last eight bytes overlap what was seen, all of it ASCII.
		return binary.LittleEndian.Uint64(p[n-8:])&ascii8 == 0 || mixed(p[n-n%8:])
	case n >= 16:
		a, b := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		c, d := binary.LittleEndian.Uint64(p[n-16:]), binary.LittleEndian.Uint64(p[n-8:])
		return (a|b|c|d)&ascii8 == 0 || mixed(p)
	case n >= 8:
		return (binary.LittleEndian.Uint64(p)|binary.LittleEndian.Uint64(p[n-8:]))&ascii8 == 0 || mixed(p)
	case n >= 4:
		return (binary.LittleEndian.Uint32(p)|binary.LittleEndian.Uint32(p[n-4:]))&ascii4 == 0 || mixed(p)
	}
	var all byte
	for _, b := range p {
		all |= b
	}
	return all < 0x80 || mixed(p)
}
