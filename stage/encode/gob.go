package encode

import (
	"bytes"
	"encoding/gob"
	"io"

	"postage/stage/encode/internal/bind"
)

// gobEach is encoding/gob with a stream for each message, which begins with the description of its
// types. This is how a gob is stored, or sent alone.
func gobEach[M any](form bind.Form[M, M]) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     "codec=gob/types=every-message",
		can:      []op{opEncode, opDecode},
		loses:    "-0, optional zero",
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept"},
	}, func() (structCodec, error) {
		var buf bytes.Buffer
		return structCodec{
			encode: func(_ []byte, v any) ([]byte, error) {
				buf.Reset()
				err := gob.NewEncoder(&buf).Encode(v)
				return buf.Bytes(), err
			},
			marshal: func(v any) ([]byte, error) {
				var fresh bytes.Buffer
				err := gob.NewEncoder(&fresh).Encode(v)
				return fresh.Bytes(), err
			},
			decode: func(data []byte, v any) error {
				return gob.NewDecoder(bytes.NewReader(data)).Decode(v)
			},
		}, nil
	})
}

// gobStream is encoding/gob with one stream for all messages. It describes its types once, before
// the timed part; a message cannot be decoded elsewhere without that.
func gobStream[M any](form bind.Form[M, M]) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     "codec=gob/types=once",
		reopen:   true,
		keeps:    true,
		can:      []op{opEncode, opDecode},
		loses:    "-0, optional zero",
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept"},
	}, func() (structCodec, error) {
		encode := intoBuffer(func(w io.Writer) *gob.Encoder { return gob.NewEncoder(w) }, "")
		types, err := encode(nil, new(M)) // and an empty message
		if err != nil {
			return structCodec{}, err
		}
		stream := bytes.NewReader(bytes.Clone(types))
		decoder := gob.NewDecoder(stream)
		if err := decoder.Decode(new(M)); err != nil {
			return structCodec{}, err
		}
		return structCodec{
			encode: encode,
			decode: func(data []byte, v any) error {
				stream.Reset(data)
				return decoder.Decode(v)
			},
		}, nil
	})
}
