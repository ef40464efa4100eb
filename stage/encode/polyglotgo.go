package encode

import (
	"fmt"

	"github.com/loopholelabs/polyglot-go"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
	"postage/stage/encode/internal/polymsg"
)

// polyglotGo is polyglot as the published page measured it, two major versions before
// polyglotCodec's. Its generator is no longer available, so this file does by hand, with the
// library's own calls, what the generated code did for the benchmark message. A message begins with
// a flag that says whether it is nil, and a reader first looks for an error in its place.
func polyglotGo(form bind.Form[plain.Benchmark, polymsg.Benchmark]) contender[plain.Benchmark] {
	return &codec[plain.Benchmark, polymsg.Benchmark]{
		name:   "codec=polyglot-go",
		module: "github.com/loopholelabs/polyglot-go",
		form:   form,
		can:    []op{opEncode, opDecode, opReuse},
		damage: damageUnbounded, // for lists and maps, it makes as many elements as a damaged length says
		utf8:   "kept",
		loops: loops[plain.Benchmark, polymsg.Benchmark]{
			encode: func(r *run[plain.Benchmark, polymsg.Benchmark], n int) error {
				for range n {
					buf := polyglot.GetBuffer()
					polyglotGoEncode(buf, r.value())
					r.out = *buf
					polyglot.PutBuffer(buf)
				}
				return nil
			},
			decode: func(r *run[plain.Benchmark, polymsg.Benchmark], n int) error {
				for range n {
					d := polyglot.GetDecoder(r.input())
					err := polyglotGoDecode(d, r.into())
					d.Return()
					if err != nil {
						return err
					}
					if err := r.took(); err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}

func polyglotGoEncode(b *polyglot.Buffer, v *polymsg.Benchmark) {
	polyglot.Encoder(b).Bool(false).String(v.Message).Slice(uint32(len(v.Repeated)), polyglot.AnyKind)
	for _, part := range v.Repeated {
		polyglot.Encoder(b).Bool(false).Bytes(part.EmbeddedData)
	}
	polyglot.Encoder(b).Bool(false).Bytes(v.Embedded.EmbeddedData)
	polyglot.Encoder(b).Bool(false).Map(uint32(len(v.EmbeddedMap.BuiltMap)), polyglot.StringKind, polyglot.Float64Kind)
	for key, value := range v.EmbeddedMap.BuiltMap {
		polyglot.Encoder(b).String(key).Float64(value)
	}
	polyglot.Encoder(b).Bool(false).String(v.EnumMessage.Message).Uint32(uint32(v.EnumMessage.Embedded))
}

// polyglotGoBegin reads what comes before a message's fields.
func polyglotGoBegin(d *polyglot.Decoder) error {
	if d.Nil() {
		return fmt.Errorf("polyglot-go: a message is nil")
	}
	if sent, err := d.Error(); err == nil {
		return fmt.Errorf("polyglot-go: an error instead of a message: %w", sent)
	}
	_, err := d.Bool()
	return err
}

// polyglotGoDecode reuses the parts that v has, and allocates all texts and bytes.
func polyglotGoDecode(d *polyglot.Decoder, v *polymsg.Benchmark) error {
	err := polyglotGoBegin(d)
	if err != nil {
		return err
	}
	if v.Message, err = d.String(); err != nil {
		return err
	}
	size, err := d.Slice(polyglot.AnyKind)
	if err != nil {
		return err
	}
	if uint32(len(v.Repeated)) != size {
		v.Repeated = make([]*polymsg.EmbeddedMessage, size)
	}
	for i := range v.Repeated {
		if v.Repeated[i], err = polyglotGoEmbedded(d, v.Repeated[i]); err != nil {
			return err
		}
	}
	if v.Embedded, err = polyglotGoEmbedded(d, v.Embedded); err != nil {
		return err
	}
	if v.EmbeddedMap == nil {
		v.EmbeddedMap = polymsg.NewMap()
	}
	if err := polyglotGoMap(d, v.EmbeddedMap); err != nil {
		return err
	}
	if v.EnumMessage == nil {
		v.EnumMessage = polymsg.NewEnumMessage()
	}
	if err := polyglotGoBegin(d); err != nil {
		return err
	}
	if v.EnumMessage.Message, err = d.String(); err != nil {
		return err
	}
	enum, err := d.Uint32()
	v.EnumMessage.Embedded = polymsg.EmbeddedEnum(enum)
	return err
}

func polyglotGoEmbedded(d *polyglot.Decoder, v *polymsg.EmbeddedMessage) (*polymsg.EmbeddedMessage, error) {
	if v == nil {
		v = polymsg.NewEmbeddedMessage()
	}
	err := polyglotGoBegin(d)
	if err == nil {
		v.EmbeddedData, err = d.Bytes(nil)
	}
	return v, err
}

func polyglotGoMap(d *polyglot.Decoder, v *polymsg.Map) error {
	if err := polyglotGoBegin(d); err != nil {
		return err
	}
	size, err := d.Map(polyglot.StringKind, polyglot.Float64Kind)
	if err != nil {
		return err
	}
	v.BuiltMap = polymsg.NewMapBuiltMapMap(size)
	for range size {
		key, err := d.String()
		if err != nil {
			return err
		}
		if v.BuiltMap[key], err = d.Float64(); err != nil {
			return err
		}
	}
	return nil
}
