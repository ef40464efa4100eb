package load

// steady says whether a header leaves the table of who decodes it as it is: it has only
// indices and literals that are not to be indexed, RFC 7541 section 6. The same octets mean
// the same then, as long as all others are like that.
func steady(block []byte) bool {
	ok := len(block) > 0
	for ok && len(block) > 0 {
		switch b := block[0]; {
		case b >= 0x80:
			_, block, ok = integer(block, 7)
		case b >= 0x20:
			return false // a literal that is, or another size of the table
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

// integer cuts an integer off whose first octet has some bits of it: section 5.1.
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

// skipText cuts a name or a value off: section 5.2.
func skipText(block []byte) (rest []byte, ok bool) {
	n, rest, ok := integer(block, 7)
	if !ok || n > len(rest) {
		return nil, false
	}
	return rest[n:], true
}
