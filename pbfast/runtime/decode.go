package runtime

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoiface"
)

// A Decoder holds the state of one decoding.
//
// All indexes into the input are checked: input is hostile. Functions that read at p[i] return the
// index after what they read. A negative index says why the input is refused: generated loops end
// at it, and Finish makes it an error.
type Decoder struct {
	in   *protoiface.UnmarshalInput // the call, if it came through proto.Unmarshal
	mode Mode
	err  error // for the index failed

	partial bool // what protobuf-go decoded may lack required fields

	// Where a group ended, with the tag and the depth of its message: for the index groupEnded.
	end      int
	endTag   uint64
	endDepth int
}

// Indexes that say why input is refused.
const (
	malformed = -1 - iota
	badText
	tooDeep
	failed
	groupEnded
)

// A Mode says whose memory the parts of a decoded message are in.
type Mode uint8

const (
	// Own says that strings and bytes are copied one by one. Otherwise they are parts of the input.
	Own Mode = 1 << iota
	// Apart says that messages, elements of lists and optional values are allocated one by one, so
	// that who keeps one keeps no other. Otherwise some are allocated together.
	Apart
	// Copied says that the input is copied whole before it is decoded.
	Copied
)

// Start returns the arguments with which a message is decoded from data.
func (d *Decoder) Start(data []byte, mode Mode) (*Decoder, []byte, int, int) {
	if d.mode = mode; mode&Copied != 0 {
		data = append([]byte(nil), data...)
	}
	return d, data[:len(data):len(data)], 0, protowire.DefaultRecursionLimit - 1
}

// Finish returns the error of a message's decoding that ended at i.
func (d *Decoder) Finish(_ proto.Message, i int) error {
	switch {
	case i >= 0:
		return nil
	case i == badText:
		return errUTF8
	case i == tooDeep:
		return errDepth
	case i == failed:
		return d.err
	}
	return errMalformed
}

// Part returns the arguments with which a message within another is decoded: its length is at p[i],
// and depth is how much deeper messages may be nested.
func (d *Decoder) Part(p []byte, i, depth int) (*Decoder, []byte, int, int) {
	if uint(i) < uint(len(p)) && depth > 0 {
		if n := int(p[i]); n < 0x80 && n < len(p)-i {
			end := i + 1 + n
			return d, p[:end:end], i + 1, depth - 1
		}
	}
	n, i := Varint(p, i)
	switch {
	case i < 0 || n > uint64(len(p)-i):
		return d, nil, malformed, 0
	case depth <= 0:
		return d, nil, tooDeep, 0
	}
	end := i + int(n)
	return d, p[:end:end], i, depth - 1
}

// Group is Part for a group, which begins at p[i].
func (d *Decoder) Group(p []byte, i, depth int) (*Decoder, []byte, int, int) {
	if depth <= 0 {
		return d, nil, tooDeep, 0
	}
	return d, p, i, depth - 1
}

// EndGroup notes that a message found the tag of a group's end before p[i].
func (d *Decoder) EndGroup(i int, tag uint64, depth int) int {
	d.end, d.endTag, d.endDepth = i, tag, depth
	return groupEnded
}

// GroupEnd returns the index after a group, whose decoding ended at i. tag ends the group, and
// depth is what Group got. An end that another message found is not the group's.
func (d *Decoder) GroupEnd(i int, tag uint64, depth int) int {
	switch {
	case i == groupEnded && d.endTag == tag && d.endDepth == depth-1:
		return d.end
	case i >= 0:
		return malformed
	}
	return i
}

var owning = Decoder{mode: Own}

// Copies says whether strings and bytes are copied one by one.
func (d *Decoder) Copies() bool { return d.mode&Own != 0 }

// Parts returns the room for the optional parts of a message, which is made if it is not there, or
// nil if they are allocated one by one.
func Parts[P any](d *Decoder, parts *P) *P {
	if parts == nil && d.mode&Apart == 0 {
		return new(P)
	}
	return parts
}

// Slab returns how many elements a list of messages gets, by their tag, and room for them, or nil
// if they are allocated one by one. The list gets the room for the pointers to them.
func Slab[E, M any](d *Decoder, p []byte, i int, tag uint16, list *[]*M) ([]E, int) {
	n := Run(p, i, tag)
	*list = slices.Grow(*list, n)
	if d.mode&Apart != 0 {
		return nil, n
	}
	return make([]E, n), n
}

// Take returns the next element of a slab, or nil.
func Take[E any](slab *[]E) *E {
	if len(*slab) == 0 {
		return nil
	}
	e := &(*slab)[0]
	*slab = (*slab)[1:]
	return e
}

// Member returns what a oneof holds if it is a W, or a new W.
func Member[W any](oneof any) *W {
	if w, _ := oneof.(*W); w != nil {
		return w
	}
	return new(W)
}

// Unknown keeps the field with the given tag, whose value begins at p[i], among a message's unknown
// fields.
func (d *Decoder) Unknown(p []byte, i int, tag uint64, unknown *[]byte) int {
	j := Skip(p, i, tag)
	if j >= 0 && (d.in == nil || d.in.Flags&protoiface.UnmarshalDiscardUnknown == 0) {
		*unknown = append(protowire.AppendVarint(*unknown, tag), p[i:j]...)
	}
	return j
}

// UnknownOrMap is Unknown in a message that has maps with the given numbers. A map's field of
// another wire type is too deep where an entry would be: protobuf-go checks the depth first, and
// only then treats the field as unknown.
func (d *Decoder) UnknownOrMap(p []byte, i int, tag uint64, unknown *[]byte, depth int, maps ...uint64) int {
	if depth == 0 && slices.Contains(maps, tag>>3) {
		return tooDeep
	}
	return d.Unknown(p, i, tag, unknown)
}

// Skip skips the value of a field with the given tag. A malformed tag is 0, and no field's number.
func Skip(p []byte, i int, tag uint64) int {
	number := tag >> 3
	if number < 1 || number > uint64(protowire.MaxValidNumber) {
		return malformed
	}
	n := protowire.ConsumeFieldValue(protowire.Number(number), protowire.Type(tag&7), p[i:])
	if n < 0 {
		return malformed
	}
	return i + n
}

// MapRoom is the number of entries to make room for in a new map. Input may write one entry over
// and over, so a map has room for a few at first, and grows with its entries.
func MapRoom(p []byte, i int, tag uint16) int { return min(Run(p, i, tag), 256) }

// Run counts how often a field is repeated without another field between: the number of elements to
// make room for. The first has its length at p[i]; the others have their tag before. Tags are of
// one or two bytes. It looks no further than p, and the fields it counts may still turn out
// malformed.
func Run(p []byte, i int, tag uint16) int {
	for n := 1; ; n++ {
		if i < len(p) && p[i] < 0x80 {
			i += 1 + int(p[i])
		} else if _, i = chunk(p, i); i < 0 {
			return n
		}
		if i >= len(p) {
			return n
		}
		if tag < 0x80 {
			if p[i] != byte(tag) {
				return n
			}
			i++
			continue
		}
		if i+1 >= len(p) || p[i] != byte(tag) || p[i+1] != byte(tag>>8) {
			return n
		}
		i += 2
	}
}
