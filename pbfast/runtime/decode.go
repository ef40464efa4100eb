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
)

// A Decoder holds the state of one decoding.
//
// All indexes into the input are checked: input is hostile. Functions that read at p[i] return the
// index after what they read, or a negative index if it is malformed.
type Decoder struct {
	// In is the call, if it came through proto.Unmarshal.
	In *protoiface.UnmarshalInput
	// Own says that strings and bytes are copied one by one. Otherwise they are parts of the input,
	// which the generated method has copied whole before, unless it was told to alias it.
	Own bool
	// Apart says that messages, elements of lists and optional values are allocated one by one, so
	// that who keeps one keeps no other. Otherwise some are allocated together.
	Apart bool
	// Alias says that fields with the parameter alias are still parts of the input, and Share the
	// same of the parameter share, for which the input has been copied.
	Alias, Share bool
}

var owning, aliasing = Decoder{Own: true}, Decoder{}

// Owning returns the decoder for fields with the parameter own: it copies strings and bytes.
func Owning() *Decoder { return &owning }

// Aliasing returns the decoder for strings and bytes of fields with the parameter alias.
func (d *Decoder) Aliasing() *Decoder {
	if d.Alias {
		return &aliasing
	}
	return d
}

// Sharing is Aliasing for the parameter share.
func (d *Decoder) Sharing() *Decoder {
	if d.Share {
		return &aliasing
	}
	return d
}

// Parts returns the room for the optional parts of a message, which is made if it is not there, or
// nil if they are allocated one by one.
func Parts[P any](d *Decoder, parts *P) *P {
	if parts == nil && !d.Apart {
		return new(P)
	}
	return parts
}

// Slab returns room for n elements of a list, or nil if they are allocated one by one.
func Slab[E any](d *Decoder, n int) []E {
	if d.Apart {
		return nil
	}
	return make([]E, n)
}

func (d *Decoder) flags() protoiface.UnmarshalInputFlags {
	if d.In == nil {
		return 0
	}
	return d.In.Flags
}

// DefaultDepth is how deeply messages may be nested.
const DefaultDepth = protowire.DefaultRecursionLimit

// Copy returns a copy of the input, of which all strings and bytes of a message can be parts.
func Copy(data []byte) []byte {
	p := append([]byte(nil), data...)
	return p[:len(p):len(p)]
}

// String returns v as a string.
func (d *Decoder) String(v []byte) string {
	if d.Own {
		return string(v)
	}
	return unsafe.String(unsafe.SliceData(v), len(v))
}

// Bytes returns v for a field without presence.
func (d *Decoder) Bytes(v []byte) []byte {
	if d.Own {
		return append([]byte(nil), v...)
	}
	return v
}

// PresentBytes returns v for a field with presence, or an element: never nil.
func (d *Decoder) PresentBytes(v []byte) []byte {
	if d.Own || v == nil {
		return append([]byte{}, v...)
	}
	return v
}

// Varint reads a varint. Generated code reads those of one byte itself.
//
// Up to eight bytes are read at once: the lowest bit 7 that is not set ends the number, and its
// groups of seven bits are moved together in three steps, so that there is no branch on the length
// to mispredict.
func Varint(p []byte, i int) (uint64, int) {
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

// Chunk reads a length and as many bytes. Generated code reads those of up to 127 bytes itself.
func Chunk(p []byte, i int) ([]byte, int) {
	n, i := Varint(p, i)
	if i < 0 || n > uint64(len(p)-i) {
		return nil, -1
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
		} else if _, i = Chunk(p, i); i < 0 {
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
// fields.
func (d *Decoder) Unknown(p []byte, i int, tag uint64, unknown *[]byte) int {
	j := Skip(p, i, tag)
	if j >= 0 && d.flags()&protoiface.UnmarshalDiscardUnknown == 0 {
		*unknown = append(protowire.AppendVarint(*unknown, tag), p[i:j]...)
	}
	return j
}

// Skip skips the value of a field with the given tag.
func Skip(p []byte, i int, tag uint64) int {
	number := tag >> 3
	if number < 1 || number > uint64(protowire.MaxValidNumber) {
		return -1
	}
	n := protowire.ConsumeFieldValue(protowire.Number(number), protowire.Type(tag&7), p[i:])
	if n < 0 {
		return -1
	}
	return i + n
}

// Fallback has protobuf-go decode one field of m: a group or an extension. depth is how much deeper
// messages in m may be nested. The field is not copied: it may hold others that come here, and so
// on, and copies of what is left at each level would take memory of the length's square.
func (d *Decoder) Fallback(p []byte, i int, tag uint64, m proto.Message, depth int) (int, error) {
	j := Skip(p, i, tag)
	if j < 0 {
		return j, ErrMalformed
	}
	var in protoiface.UnmarshalInput
	if d.In != nil {
		in = *d.In
	}
	in.Message = m.ProtoReflect()
	in.Buf = p[tagBegin(p, i, tag):j:j]
	in.Flags &^= protoiface.UnmarshalAliasBuffer
	in.Depth = depth + 1
	in.Resolver = withDepth(in.Resolver, depth)
	_, err := Original(in.Message).Unmarshal(in)
	return j, err
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

// Depth is how deeply messages may be nested in that of a call.
func Depth(in *protoiface.UnmarshalInput) int {
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

// Foreign decodes v into m, whose code another generator made. depth is how much deeper the message
// around m may be nested.
func (d *Decoder) Foreign(v []byte, m proto.Message, depth int) error {
	if depth <= 0 {
		return ErrDepth
	}
	o := proto.UnmarshalOptions{
		Merge:          true,
		AllowPartial:   true,
		DiscardUnknown: d.flags()&protoiface.UnmarshalDiscardUnknown != 0,
		NoLazyDecoding: d.flags()&protoiface.UnmarshalNoLazyDecoding != 0,
		RecursionLimit: depth,
	}
	if d.In != nil {
		o.Resolver = d.In.Resolver
	}
	return o.Unmarshal(v, m)
}

// UnZigZag is the inverse of ZigZag.
func UnZigZag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

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
func AppendVarints[T varint](dst []T, p []byte) ([]T, error) {
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
					return dst, ErrMalformed
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
			return dst, ErrMalformed
		}
		into[k] = T(v)
	}
	return dst[:n+k], nil
}

// AppendZigZags appends the elements of a packed field of sint32 or sint64.
func AppendZigZags[T ~int32 | ~int64](dst []T, p []byte) ([]T, error) {
	n := len(dst)
	dst, err := AppendVarints(dst, p)
	if err != nil {
		return dst, err
	}
	for k, v := range dst[n:] {
		// Of a sint32 the lower half of the varint counts, as protobuf-go has it.
		if unsafe.Sizeof(v) == 4 {
			dst[n+k] = T(UnZigZag(uint64(uint32(v))))
		} else {
			dst[n+k] = T(UnZigZag(uint64(v)))
		}
	}
	return dst, nil
}

// AppendBools appends the elements of a packed field.
func AppendBools(dst []bool, p []byte) ([]bool, error) {
	dst = slices.Grow(dst, varints(p))
	for i := 0; i < len(p); {
		var v uint64
		if v, i = Varint(p, i); i < 0 {
			return dst, ErrMalformed
		}
		dst = append(dst, v != 0)
	}
	return dst, nil
}
