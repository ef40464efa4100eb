package pgbulk

import "encoding/binary"

// chunk is some rows, encoded, as Bind has them. COPY differs only in a count before each row.
// Large strings are not in data but stay where they are; a string's bytes never change.
type chunk struct {
	first    int        // number of its first row
	data     []byte     // fields of all rows, but for what refs refer to
	refs     []referred // in the order of their places
	referred int        // bytes that refs refer to
	ends     []rowEnd   // where each row ends
}

// referred is a value that belongs before data[at].
type referred struct {
	at    int
	value string
}

// rowEnd is how far data, refs and the bytes referred to had come after a row.
type rowEnd struct{ data, refs, referred int }

func (c *chunk) reset(first int) {
	clear(c.refs) // so that nothing is kept from being collected
	c.first, c.data, c.refs, c.referred, c.ends = first, c.data[:0], c.refs[:0], 0, c.ends[:0]
}

func (c *chunk) rows() int { return len(c.ends) }

// size is how many bytes the rows take.
func (c *chunk) size() int { return len(c.data) + c.referred }

// end is where the i-th row begins: where the one before it ends.
func (c *chunk) start(i int) rowEnd {
	if i == 0 {
		return rowEnd{}
	}
	return c.ends[i-1]
}

// write writes the rows from one to before another to the wire.
func (c *chunk) write(s *wire, from, to int) {
	start, end := c.start(from), c.start(to)
	at := start.data
	for _, r := range c.refs[start.refs:end.refs] {
		s.bytes(c.data[at:r.at])
		s.refer(r.value)
		at = r.at
	}
	s.bytes(c.data[at:end.data])
}

// appendRow appends the i-th row's fields, whole.
func (c *chunk) appendRow(dst []byte, i int) []byte {
	start, end := c.start(i), c.ends[i]
	at := start.data
	for _, r := range c.refs[start.refs:end.refs] {
		dst = append(append(dst, c.data[at:r.at]...), r.value...)
		at = r.at
	}
	return append(dst, c.data[at:end.data]...)
}

// appendKey appends the fields of the i-th row that are its key. ok is false if one of them is
// NULL: such a row conflicts with no other.
func (c *chunk) appendKey(dst []byte, i int, isKey []bool) (key []byte, ok bool) {
	start, end := c.start(i), c.ends[i]
	at, refs := start.data, c.refs[start.refs:end.refs]
	for _, is := range isKey {
		n := max(0, int(int32(binary.BigEndian.Uint32(c.data[at:]))))
		// A field whose value is referred to has its length here, and perhaps the byte that jsonb
		// begins with.
		if len(refs) > 0 && refs[0].at <= at+5 {
			n, refs = refs[0].at-at-4, refs[1:]
		} else if is {
			if c.data[at] == 0xff {
				return dst, false
			}
			dst = append(dst, c.data[at:at+4+n]...)
		}
		at += 4 + n
	}
	return dst, true
}

// plain adds the plain bytes of a value, or a reference to them.
func (c *chunk) plain(col *column, s string, refers bool) {
	c.data = binary.BigEndian.AppendUint32(c.data, uint32(col.prefix()+len(s)))
	if col.prefix() == 1 {
		c.data = append(c.data, 1)
	}
	if refers {
		c.refs = append(c.refs, referred{len(c.data), s})
		c.referred += len(s)
	} else {
		c.data = append(c.data, s...)
	}
}

// endRow ends a row whose values have been added.
func (c *chunk) endRow() { c.ends = append(c.ends, rowEnd{len(c.data), len(c.refs), c.referred}) }

// add encodes a row at the end of the chunk. After an error the chunk is as before. sent says that
// the chunk is sent before the row can change.
func (e *encoder) add(c *chunk, row []any, sent bool) error {
	start := c.start(c.rows())
	for i, v := range row {
		if err := e.addValue(c, i, v, sent); err != nil {
			c.data, c.refs, c.referred = c.data[:start.data], c.refs[:start.refs], start.referred
			return &rowError{c.first + c.rows(), e.columns[i].name, err}
		}
	}
	c.endRow()
	return nil
}

func (e *encoder) addValue(c *chunk, i int, v any, sent bool) error {
	col := &e.columns[i]
	if s, ok := col.shape.plain(v); ok {
		if n := col.prefix() + len(s); n > maxValue {
			return tooLarge(n)
		}
		c.plain(col, s, e.refers(i, s, v, sent))
		return nil
	}
	data, err := e.append(c.data, i, v)
	if err == nil {
		c.data = data
	}
	return err
}
