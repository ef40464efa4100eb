package webpush

// A cursor keeps which of a growing sequence of numbers have been marked, and up to which all have
// been.
type cursor struct {
	base  int64 // a multiple of 64; all below it are marked
	words []uint64
	top   int64 // all from here on are not
}

// mark marks i.
func (c *cursor) mark(i int64) {
	for word := (i - c.base) / 64; int64(len(c.words)) <= word; {
		c.words = append(c.words, 0)
	}
	c.words[(i-c.base)/64] |= 1 << (i % 64)
	c.top = max(c.top, i+1)
	full := 0
	for full < len(c.words) && c.words[full] == ^uint64(0) {
		full++
	}
	c.words, c.base = c.words[full:], c.base+int64(64*full)
}

// has reports whether i is marked.
func (c *cursor) has(i int64) bool {
	if i < c.base {
		return true
	}
	word := (i - c.base) / 64
	return word < int64(len(c.words)) && c.words[word]&(1<<(i%64)) != 0
}

// at is the first number that is not marked.
func (c *cursor) at() int64 {
	i := c.base
	for i < c.top && c.has(i) {
		i++
	}
	return i
}
