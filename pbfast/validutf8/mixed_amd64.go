//go:build !purego

package validutf8

import (
	"encoding/binary"
	"unicode/utf8"
)

// hasSSSE3 says whether the processor has the instructions of block and blocks. Those made since
// 2011 have.
var hasSSSE3 = ssse3()

// block reports whether 16 bytes, the last of them 0, are UTF-8.
//
//go:noescape
func block(lo, hi uint64) bool

// blocks reports whether n bytes, at least 16, could be the beginning of text in UTF-8.
//
//go:noescape
func blocks(p *byte, n int) bool

//go:noescape
func ssse3() bool

// mixed checks sixteen bytes at once, by three tables of sixteen bytes for each pair of neighbours:
// J. Keiser and D. Lemire, Validating UTF-8 in less than one instruction per byte, 2021.
func mixed(p []byte) bool {
	n := len(p)
	switch {
	case !hasSSSE3:
	case n >= 16:
		return p[n-1] < 0xc0 && p[n-2] < 0xe0 && p[n-3] < 0xf0 && blocks(&p[0], n)
	case n >= 8:
		return block(binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[n-8:])>>(8*(16-n)))
	case n >= 4:
		return block(uint64(binary.LittleEndian.Uint32(p))|uint64(binary.LittleEndian.Uint32(p[n-4:]))<<(8*(n-4)), 0)
	}
	return utf8.Valid(p)
}
