package runtime

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoiface"

	"postage/pbfast/validutf8"
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
}

// Indexes that say why input is refused.
const (
	malformed = -1 - iota
	badText
	tooDeep
	failed
)

// A Mode says whose memory the parts of a decoded message are in.
type Mode uint8

const (
	// Own says that strings and bytes are copied one by one. Otherwise they are parts of the input.
	Own Mode = 1 << iota
	// Apart says that messages, elements of lists and optional values are allocated one by one, so
	// that who keeps one keeps no other. Otherwise some are allocated together.
	Apart
	// Alias says that fields with the parameter alias are still parts of the input, and Share the
	// same of the parameter share.
	Alias
	Share
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
		return ErrUTF8
	case i == tooDeep:
		return ErrDepth
	case i == failed:
		return d.err
	}
	return ErrMalformed
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
	return d.longPart(p, i, depth)
}

func (d *Decoder) longPart(p []byte, i, depth int) (*Decoder, []byte, int, int) {
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

var owning, aliasing = Decoder{mode: Own}, Decoder{}

// Owning returns the decoder for fields with the parameter own: it copies strings and bytes.
func Owning() *Decoder { return &owning }

// Aliasing returns the decoder for strings and bytes of fields with the parameter alias.
func (d *Decoder) Aliasing() *Decoder {
	if d.mode&Alias != 0 {
		return &aliasing
	}
	return d
}

// Sharing is Aliasing for the parameter share.
func (d *Decoder) Sharing() *Decoder {
	if d.mode&Share != 0 {
		return &aliasing
	}
	return d
}

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

func (d *Decoder) flags() protoiface.UnmarshalInputFlags {
	if d.in == nil {
		return 0
	}
	return d.in.Flags
}

// Text reads text, which must be UTF-8.
func (d *Decoder) Text(p []byte, i int) (string, int) {
	var v []byte
	if uint(i) < uint(len(p)) && p[i] < 0x80 && int(p[i]) < len(p)-i {
		j := i + 1 + int(p[i])
		v, i = p[i+1:j], j
	} else if v, i = chunk(p, i); i < 0 {
		return "", i
	}
	if !shortASCII(v) && !validutf8.Valid(v) {
		return "", badText
	}
	if d.mode&Own != 0 {
		return string(v), i
	}
	return unsafe.String(unsafe.SliceData(v), len(v)), i
}

// shortASCII says whether v is of 8 to 16 bytes, all of them ASCII: the usual text, without a call.
func shortASCII(v []byte) bool {
	return len(v) >= 8 && len(v) <= 16 &&
		(binary.LittleEndian.Uint64(v)|binary.LittleEndian.Uint64(v[len(v)-8:]))&continued8 == 0
}

// Short returns where the bytes end whose length is at p[i], if that is of one byte, or 0.
func Short(p []byte, i int) int {
	if uint(i) < uint(len(p)) && p[i] < 0x80 && int(p[i]) < len(p)-i {
		return i + 1 + int(p[i])
	}
	return 0
}

// Copies says whether strings and bytes are copied one by one.
func (d *Decoder) Copies() bool { return d.mode&Own != 0 }

// RawText is Text that need not be UTF-8.
func (d *Decoder) RawText(p []byte, i int) (string, int) {
	v, i := chunk(p, i)
	if d.mode&Own != 0 {
		return string(v), i
	}
	return unsafe.String(unsafe.SliceData(v), len(v)), i
}

// Bytes reads bytes of a field without presence.
func (d *Decoder) Bytes(p []byte, i int) ([]byte, int) {
	var v []byte
	if uint(i) < uint(len(p)) && p[i] < 0x80 && int(p[i]) < len(p)-i {
		j := i + 1 + int(p[i])
		v, i = p[i+1:j:j], j
	} else if v, i = chunk(p, i); i < 0 {
		return nil, i
	}
	if d.mode&Own != 0 {
		return append([]byte(nil), v...), i
	}
	return v, i
}

// PresentBytes reads bytes of a field with presence, or an element: never nil.
func (d *Decoder) PresentBytes(p []byte, i int) ([]byte, int) {
	var v []byte
	if uint(i) < uint(len(p)) && p[i] < 0x80 && int(p[i]) < len(p)-i {
		j := i + 1 + int(p[i])
		v, i = p[i+1:j:j], j
	} else if v, i = chunk(p, i); i < 0 {
		return nil, i
	}
	if d.mode&Own != 0 {
		return append([]byte{}, v...), i
	}
	return v, i
}

// AppendText appends text to a list that has the given tag, of one or two bytes, or 0. With the
// first of several comes room for all.
func (d *Decoder) AppendText(list []string, p []byte, i int, tag uint16) ([]string, int) {
	v, j := d.Text(p, i)
	if j < 0 {
		return list, j
	}
	return append(room(list, p, i, tag), v), j
}

// AppendRawText is AppendText for RawText.
func (d *Decoder) AppendRawText(list []string, p []byte, i int, tag uint16) ([]string, int) {
	v, j := d.RawText(p, i)
	if j < 0 {
		return list, j
	}
	return append(room(list, p, i, tag), v), j
}

// AppendBytes is AppendText for bytes.
func (d *Decoder) AppendBytes(list [][]byte, p []byte, i int, tag uint16) ([][]byte, int) {
	v, j := d.PresentBytes(p, i)
	if j < 0 {
		return list, j
	}
	return append(room(list, p, i, tag), v), j
}

// room is list with room for the fields that come one after another with the given tag.
func room[E any](list []E, p []byte, i int, tag uint16) []E {
	if len(list) < cap(list) || tag == 0 {
		return list
	}
	return slices.Grow(list, Run(p, i, tag))
}

// Varint reads a varint. Generated code reads tags of one byte itself.
//
// Up to eight bytes are read at once: the lowest bit 7 that is not set ends the number, and its
// groups of seven bits are moved together in three steps, so that there is no branch on the length
// to mispredict.
func Varint(p []byte, i int) (uint64, int) {
	if uint(i) < uint(len(p)) && p[i] < 0x80 {
		return uint64(p[i]), i + 1
	}
	return longVarint(p, i)
}

func longVarint(p []byte, i int) (uint64, int) {
	if len(p)-i >= 8 {
		x := binary.LittleEndian.Uint64(p[i:])
		if end := ^x & continued8; end != 0 {
			return gather(x & (end - 1)), i + bits.TrailingZeros64(end)/8 + 1
		}
	}
	return slowVarint(p, i)
}

// gather moves the lower seven bits of each byte together.
func gather(x uint64) uint64 {
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	return x&0x000000000fffffff | x&0x0fffffff00000000>>4
}

// continued8 are the bits of eight bytes that say that a varint goes on.
const continued8 = 0x8080808080808080

// slowVarint reads a varint of more than eight bytes, or near the end of p.
func slowVarint(p []byte, i int) (v uint64, _ int) {
	for k, b := range p[i:] {
		if k == 9 {
			if b > 1 {
				return 0, -1
			}
			return v | uint64(b)<<63, i + 10
		}
		v |= uint64(b&0x7f) << (7 * k)
		if b < 0x80 {
			return v, i + k + 1
		}
	}
	return 0, -1
}

// chunk reads a length and as many bytes.
func chunk(p []byte, i int) ([]byte, int) {
	n, i := Varint(p, i)
	if i < 0 || n > uint64(len(p)-i) {
		return nil, malformed
	}
	j := i + int(n)
	return p[i:j:j], j
}

// Run counts how often a field is repeated without another field between: the number of elements to
// make room for. The first has its length at p[i]; those that follow have their tag before. Tags
// are of one or two bytes. It looks no further than p, and the fields it counts may still turn out
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

// Unknown keeps the field with the given tag, whose value begins at p[i], among a message's unknown
// fields. A negative i is of a malformed tag.
func (d *Decoder) Unknown(p []byte, i int, tag uint64, unknown *[]byte) int {
	j := Skip(p, i, tag)
	if j >= 0 && d.flags()&protoiface.UnmarshalDiscardUnknown == 0 {
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

// Skip skips the value of a field with the given tag. A negative i is of a malformed tag.
func Skip(p []byte, i int, tag uint64) int {
	number := tag >> 3
	if i < 0 || number < 1 || number > uint64(protowire.MaxValidNumber) {
		return malformed
	}
	n := protowire.ConsumeFieldValue(protowire.Number(number), protowire.Type(tag&7), p[i:])
	if n < 0 {
		return malformed
	}
	return i + n
}

// Fallback has protobuf-go decode one field of m: a group or an extension. depth is how much deeper
// messages in m may be nested. The field is not copied: it may hold others that come here, and so
// on, and copies of what is left at each level would take memory of the length's square.
func (d *Decoder) Fallback(p []byte, i int, tag uint64, m proto.Message, depth int) int {
	j := Skip(p, i, tag)
	if j < 0 {
		return j
	}
	var in protoiface.UnmarshalInput
	if d.in != nil {
		in = *d.in
	}
	in.Message = m.ProtoReflect()
	in.Buf = p[tagBegin(p, i, tag):j:j]
	in.Flags &^= protoiface.UnmarshalAliasBuffer
	in.Depth = depth + 1
	in.Resolver = withDepth(in.Resolver, depth)
	if _, err := Original(in.Message).Unmarshal(in); err != nil {
		d.err = err
		return failed
	}
	return j
}

// A resolver finds extensions, as protoiface.UnmarshalInput has it.
type resolver interface {
	FindExtensionByName(protoreflect.FullName) (protoreflect.ExtensionType, error)
	FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error)
}

// A deepResolver also says how much deeper messages may be nested. protobuf-go starts to count
// again at each message that is an extension, so that one that holds itself there has no limit but
// the stack's; it hands on the resolver, though.
type deepResolver struct {
	resolver
	depth int
}

func withDepth(r resolver, depth int) resolver {
	switch outer, ok := r.(*deepResolver); {
	case ok:
		r = outer.resolver
	case r == nil:
		r = protoregistry.GlobalTypes
	}
	return &deepResolver{r, depth}
}

// depthOf is how deeply messages may be nested in that of a call.
func depthOf(in *protoiface.UnmarshalInput) int {
	if r, ok := in.Resolver.(*deepResolver); ok {
		return min(in.Depth, r.depth)
	}
	return in.Depth
}

// tagBegin returns where the tag that ends before p[i] begins. It may have been written in more
// bytes than it needs.
func tagBegin(p []byte, i int, tag uint64) int {
	k := i - 1
	for {
		if v, n := protowire.ConsumeVarint(p[k:i]); v == tag && n == i-k {
			return k
		}
		k--
	}
}

// Foreign decodes a message whose code another generator made, into m or into a new one. depth is
// how much deeper the message around it may be nested.
func Foreign[T any, M interface {
	*T
	proto.Message
}](d *Decoder, p []byte, i, depth int, m M) (M, int) {
	if m == nil {
		m = new(T)
	}
	return m, d.foreign(p, i, depth, m)
}

func (d *Decoder) foreign(p []byte, i, depth int, m proto.Message) int {
	v, i := chunk(p, i)
	if i < 0 {
		return i
	}
	if depth <= 0 {
		return tooDeep
	}
	o := proto.UnmarshalOptions{
		Merge:          true,
		AllowPartial:   true,
		DiscardUnknown: d.flags()&protoiface.UnmarshalDiscardUnknown != 0,
		NoLazyDecoding: d.flags()&protoiface.UnmarshalNoLazyDecoding != 0,
		RecursionLimit: depth,
	}
	if d.in != nil {
		o.Resolver = d.in.Resolver
	}
	if err := o.Unmarshal(v, m); err != nil {
		d.err = err
		return failed
	}
	return i
}

// unZigZag is the inverse of ZigZag.
func unZigZag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// Int reads a number or an enum.
func Int[T varint](p []byte, i int) (T, int) {
	if uint(i) < uint(len(p)) && p[i] < 0x80 {
		return T(p[i]), i + 1
	}
	v, i := longVarint(p, i)
	return T(v), i
}

// Sint32 reads a sint32, of whose varint the lower half counts, as protobuf-go has it.
func Sint32(p []byte, i int) (int32, int) {
	v, i := Varint(p, i)
	return int32(unZigZag(uint64(uint32(v)))), i
}

// Sint64 reads a sint64.
func Sint64(p []byte, i int) (int64, int) {
	v, i := Varint(p, i)
	return unZigZag(v), i
}

// Bool reads a bool.
func Bool(p []byte, i int) (bool, int) {
	v, i := Varint(p, i)
	return v != 0, i
}

// Append appends what a read function read to a list.
func Append[T any](list []T, v T, i int) ([]T, int) {
	if i < 0 {
		return list, i
	}
	return append(list, v), i
}

// varints counts the varints in p.
func varints(p []byte) (n int) {
	for ; len(p) >= 8; p = p[8:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(p) & continued8)
	}
	for _, b := range p {
		n += int(^b >> 7)
	}
	return n
}

// AppendVarints appends the elements of a packed field. It guesses that each is as long as the one
// before, so that the processor can start on the next without waiting for the length.
func AppendVarints[T varint](dst []T, p []byte, i int) ([]T, int) {
	p, end := chunk(p, i)
	if end < 0 {
		return dst, end
	}
	n := len(dst)
	dst = slices.Grow(dst, varints(p))
	into := dst[n:cap(dst)] // of at least as many elements as p has bytes that end a varint
	k, i := 0, 0
	upTo, last, width := uint64(0), uint64(1), 0 // of the word's bits: those of the varint, and the highest; none fits at first
	for ; len(p)-i >= 8; k++ {
		x := binary.LittleEndian.Uint64(p[i:])
		ends := ^x & continued8
		if ends&upTo != last {
			if ends == 0 { // it is longer than the word
				var v uint64
				if v, i = slowVarint(p, i); i < 0 {
					return dst, malformed
				}
				into[k] = T(v)
				continue
			}
			last = ends & -ends
			upTo = last | (last - 1)
			width = bits.TrailingZeros64(last)/8 + 1
		}
		into[k] = T(gather(x & upTo))
		i += width
	}
	for ; i < len(p); k++ {
		var v uint64
		if v, i = slowVarint(p, i); i < 0 {
			return dst, malformed
		}
		into[k] = T(v)
	}
	return dst[:n+k], end
}

// AppendZigZags appends the elements of a packed field of sint32 or sint64.
func AppendZigZags[T ~int32 | ~int64](dst []T, p []byte, i int) ([]T, int) {
	n := len(dst)
	dst, i = AppendVarints(dst, p, i)
	if i < 0 {
		return dst, i
	}
	for k, v := range dst[n:] {
		// Of a sint32 the lower half of the varint counts, as protobuf-go has it.
		if unsafe.Sizeof(v) == 4 {
			dst[n+k] = T(unZigZag(uint64(uint32(v))))
		} else {
			dst[n+k] = T(unZigZag(uint64(v)))
		}
	}
	return dst, i
}

// AppendBools appends the elements of a packed field.
func AppendBools(dst []bool, p []byte, i int) ([]bool, int) {
	p, end := chunk(p, i)
	dst = slices.Grow(dst, varints(p))
	for i := 0; i < len(p); {
		var v uint64
		if v, i = Varint(p, i); i < 0 {
			return dst, malformed
		}
		dst = append(dst, v != 0)
	}
	return dst, end
}
