package load

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// staticMost is the last index of HPACK's static table (RFC 7541 appendix A).
const staticMost = 61

// steady reports whether a header leaves the decoder's dynamic table as it is: it has only indices
// and literals without indexing (RFC 7541 section 6).
func steady(block []byte) bool {
	adds, _, ok := examine(block)
	return ok && adds == 0
}

// examine returns how many fields a header adds to the dynamic table, and whether it is independent:
// it has no index into that table. It is not ok if the header cannot be read, or changes the table's
// size.
func examine(block []byte) (adds int, independent, ok bool) {
	independent, ok = true, len(block) > 0
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
		independent = independent && index <= staticMost
		if ok && literal && index == 0 {
			block, ok = skipText(block)
		}
		if ok && literal {
			block, ok = skipText(block)
		}
	}
	return adds, independent, ok
}

// integer cuts off an integer with a prefix of so many bits (RFC 7541 section 5.1).
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

// A headerEncoder encodes requests' headers. Once a header's fields are in the dynamic table, its
// octets stay the same until the table changes.
type headerEncoder struct {
	*hpack.Encoder
	encoded *bytes.Buffer
	table   int // counts the table's changes
	sending []sentHeader
}

// A sentHeader is a header's octets, valid while table is the encoder's; 0 for none.
type sentHeader struct {
	octets  []byte
	table   int
	request int
}

// mostHeaders is the number of requests whose encoded headers are kept.
const mostHeaders = 64

func newHeaderEncoder(requests int) headerEncoder {
	var encoded bytes.Buffer
	return headerEncoder{hpack.NewEncoder(&encoded), &encoded, 1, make([]sentHeader, min(requests, mostHeaders))}
}

// encode returns the header of a request, by its number.
func (e *headerEncoder) encode(request int, fields []hpack.HeaderField) []byte {
	header := &e.sending[request%len(e.sending)]
	if header.request != request || header.table != e.table {
		e.encoded.Reset()
		for _, f := range fields {
			_ = e.WriteField(f) // a bytes.Buffer accepts everything
		}
		header.octets, header.table, header.request = append(header.octets[:0], e.encoded.Bytes()...), e.table, request
		if !steady(header.octets) {
			e.table++
		}
	}
	return header.octets
}

// A headerDecoder decodes headers that came. gRPC's alternate with its trailers.
type headerDecoder struct {
	*hpack.Decoder
	got     answer        // of the header that is being decoded
	blocks  [2]knownBlock // headers that came
	oldest  int           // index of the older of them
	delayed []int         // indices of blocks that came again and have yet to change the table
}

func (d *headerDecoder) field(f hpack.HeaderField) {
	switch f.Name {
	case ":status":
		d.got.status, _ = strconv.Atoi(f.Value)
	case "grpc-status":
		if n, err := strconv.Atoi(f.Value); err == nil {
			d.got.grpc = n
		}
	case "grpc-message":
		d.got.message = f.Value
	case "content-type":
		d.got.kind = f.Value
	case "content-length":
		n, err := strconv.ParseUint(f.Value, 10, 63)
		if err != nil || d.got.length != untilEnd && d.got.length != int64(n) {
			d.got.length = conflicting
			return
		}
		d.got.length = int64(n)
	}
}

type knownBlock struct {
	octets      []byte
	answer      answer
	adds        int  // how many fields it adds to the table
	independent bool // it has no index into the dynamic table
}

// delayedMost is how many fields the dynamic table can have: each counts as 32 octets and more (RFC
// 7541 section 4.1).
const delayedMost = tableMost / 32

// decode returns the meaning of a header. Octets that came before are not decoded again if they
// still mean the same: they have no index into the table, or the table has not changed since. What
// they add to the table is added when another header needs it.
func (d *headerDecoder) decode(block []byte) (answer, error) {
	for i := range d.blocks {
		if k := &d.blocks[i]; len(block) > 0 && bytes.Equal(block, k.octets) {
			if k.adds > 0 {
				d.delay(i)
			}
			return k.answer, nil
		}
	}
	for _, i := range d.delayed {
		if err := d.decodeNow(d.blocks[i].octets); err != nil {
			return d.got, err
		}
	}
	d.delayed = d.delayed[:0]
	if err := d.decodeNow(block); err != nil {
		return d.got, err
	}
	adds, independent, ok := examine(block)
	if adds > 0 || !ok {
		d.tableChanged()
	}
	if ok && (independent || adds == 0) {
		k := &d.blocks[d.oldest]
		k.octets, k.answer, k.adds, k.independent = append(k.octets[:0], block...), d.got, adds, independent
		d.oldest = 1 - d.oldest
	}
	return d.got, nil
}

func (d *headerDecoder) decodeNow(block []byte) error {
	if d.Decoder == nil {
		d.Decoder = hpack.NewDecoder(tableMost, d.field)
	}
	d.got = answer{grpc: -1, length: untilEnd}
	if _, err := d.Write(block); err != nil {
		return fmt.Errorf("decode a header: %w", err)
	}
	if err := d.Close(); err != nil {
		return fmt.Errorf("decode a header: %w", err)
	}
	return nil
}

// delay notes that the fields of a known block have to be added to the table. Each adds one at
// least, so that the last delayedMost blocks alone fill the table.
func (d *headerDecoder) delay(i int) {
	d.tableChanged()
	if len(d.delayed) == 2*delayedMost {
		d.delayed = append(d.delayed[:0], d.delayed[delayedMost:]...)
	}
	d.delayed = append(d.delayed, i)
}

// tableChanged forgets known blocks in which an index may now mean another field.
func (d *headerDecoder) tableChanged() {
	for i := range d.blocks {
		if k := &d.blocks[i]; !k.independent {
			k.octets = k.octets[:0]
		}
	}
}
