package load

// staticMost is the last index of HPACK's static table (RFC 7541 appendix A).
const staticMost = 61

// steady reports whether a header leaves the decoder's dynamic table as it is, because it has only
// indices and literals without indexing (RFC 7541 section 6). The same octets then mean the same
// again, as long as all other headers are like that.
func steady(block []byte) bool {
	adds, _, ok := examine(block)
	return ok && adds == 0
}

// examine returns how many fields a header adds to the dynamic table, and whether it has a meaning
// of its own: it has no index into that table. A header that cannot be read or that changes the
// table's size is not ok.
func examine(block []byte) (adds int, own, ok bool) {
	own, ok = true, len(block) > 0
	for ok && len(block) > 0 {
		var index int
		literal := true
		switch b := block[0]; {
		case b >= 0x80:
			index, block, ok = integer(block, 7)
			literal = false
		case b >= 0x40:
			index, block, ok = integer(block, 6)
			adds++
		case b >= 0x20:
			return 0, false, false // a table size update
		default:
			index, block, ok = integer(block, 4)
		}
		own = own && index <= staticMost
		if ok && literal && index == 0 {
			block, ok = skipText(block)
		}
		if ok && literal {
			block, ok = skipText(block)
		}
	}
	return adds, own, ok
}

// integer cuts off an integer whose first octet has that many bits of it (RFC 7541 section 5.1).
func integer(block []byte, bits int) (n int, rest []byte, ok bool) {
	if len(block) == 0 {
		return 0, nil, false
	}
	most := 1<<bits - 1
	if n = int(block[0]) & most; n < most {
		return n, block[1:], true
	}
	for i, b := range block[1:] {
		if i > 3 {
			break // longer than any header
		}
		n += int(b&0x7f) << (7 * i)
		if b < 0x80 {
			return n, block[i+2:], true
		}
	}
	return 0, nil, false
}

// skipText cuts off a name or a value (RFC 7541 section 5.2).
func skipText(block []byte) (rest []byte, ok bool) {
	n, rest, ok := integer(block, 7)
	if !ok || n > len(rest) {
		return nil, false
	}
	return rest[n:], true
}
