package load

// steady reports whether a header leaves the decoder's dynamic table as it is, because it has only
// indices and literals without indexing (RFC 7541 section 6). The same octets then mean the same
// again, as long as all other headers are like that.
func steady(block []byte) bool {
	ok := len(block) > 0
	for ok && len(block) > 0 {
		switch b := block[0]; {
		case b >= 0x80:
			_, block, ok = integer(block, 7)
		case b >= 0x20:
			return false // a literal with incremental indexing, or a table size update
		default:
			var name int
			if name, block, ok = integer(block, 4); ok && name == 0 {
				block, ok = skipText(block)
			}
			if ok {
				block, ok = skipText(block)
			}
		}
	}
	return ok
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
