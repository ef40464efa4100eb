// Package validutf8 tells whether text is UTF-8, several times as fast as [unicode/utf8] where the
// text is not all ASCII:
//
//	if !validutf8.Valid(text) {
//		return errors.New("the text is not UTF-8")
//	}
//
// It accepts what that package accepts: RFC 3629, so no surrogates, nothing beyond U+10FFFF and no
// overlong forms.
//
// It is a shift automaton: a state is a shift count, and a byte's row of the table is one 64-bit
// word that holds, at each state's shift, the state that follows. A step is one load that depends
// on the text alone and one shift, so the chain of steps is a cycle or two a byte and has no branch
// to mispredict. ASCII is checked eight bytes at a time, until the first byte that is not ASCII.
// On amd64, assembly checks the rest sixteen bytes at a time; the build tag purego leaves it out.
package validutf8

import "encoding/binary"

// The states, as shifts into a row. Six bits each, so that a row's upper bits never matter: a shift
// count is taken modulo 64 by the mask in step.
const (
	accept = 6 * iota // between characters
	reject
	tail1    // one continuation byte to come
	tail2    // two
	tail3    // three
	afterE0  // the next is A0 to BF, or the form is overlong
	afterED  // the next is 80 to 9F, or it is a surrogate
	afterF0  // the next is 90 to BF, or the form is overlong
	afterF4  // the next is 80 to 8F, or it is beyond U+10FFFF
	ascii8   = 0x8080808080808080
	ascii4   = 0x80808080
	stateBit = 63
)

var rows = makeRows()

func makeRows() (rows [256]uint64) {
	set := func(lo, hi int, from, to uint64) {
		for b := lo; b <= hi; b++ {
			rows[b] = rows[b]&^(63<<from) | to<<from
		}
	}
	for _, from := range []uint64{accept, reject, tail1, tail2, tail3, afterE0, afterED, afterF0, afterF4} {
		set(0, 255, from, reject)
	}
	set(0x00, 0x7f, accept, accept)
	set(0xc2, 0xdf, accept, tail1)
	set(0xe0, 0xe0, accept, afterE0)
	set(0xe1, 0xef, accept, tail2)
	set(0xed, 0xed, accept, afterED)
	set(0xf0, 0xf0, accept, afterF0)
	set(0xf1, 0xf3, accept, tail3)
	set(0xf4, 0xf4, accept, afterF4)
	set(0x80, 0xbf, tail1, accept)
	set(0x80, 0xbf, tail2, tail1)
	set(0x80, 0xbf, tail3, tail2)
	set(0xa0, 0xbf, afterE0, tail1)
	set(0x80, 0x9f, afterED, tail1)
	set(0x90, 0xbf, afterF0, tail2)
	set(0x80, 0x8f, afterF4, tail2)
	return rows
}

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

// automaton runs two automata at once where there is enough text, over the halves, since a
// processor has time for a second chain of steps beside the first.
func automaton(p []byte) bool {
	left, right := uint64(accept), uint64(accept)
	if len(p) >= 24 {
		// The right half begins with a character. Three steps back find one, if this is UTF-8.
		middle := len(p) / 2
		for range 3 {
			if p[middle]&0xc0 == 0x80 {
				middle--
			}
		}
		a, b := p[:middle], p[middle:]
		for len(a) >= 4 && len(b) >= 4 {
			left, right = rows[a[0]]>>(left&stateBit), rows[b[0]]>>(right&stateBit)
			left, right = rows[a[1]]>>(left&stateBit), rows[b[1]]>>(right&stateBit)
			left, right = rows[a[2]]>>(left&stateBit), rows[b[2]]>>(right&stateBit)
			left, right = rows[a[3]]>>(left&stateBit), rows[b[3]]>>(right&stateBit)
			a, b = a[4:], b[4:]
		}
		for _, c := range a {
			left = rows[c] >> (left & stateBit)
		}
		p = b
	}
	for len(p) >= 4 {
		right = rows[p[0]] >> (right & stateBit)
		right = rows[p[1]] >> (right & stateBit)
		right = rows[p[2]] >> (right & stateBit)
		right = rows[p[3]] >> (right & stateBit)
		p = p[4:]
	}
	for _, c := range p {
		right = rows[c] >> (right & stateBit)
	}
	return left&stateBit == accept && right&stateBit == accept
}
