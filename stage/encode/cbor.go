package encode

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"

	"postage/stage/encode/internal/bind"
)

// cborMaps is fxamacker's CBOR, with structs written as maps by field name, and times with their
// fractions of seconds, as RFC 3339 has them.
func cborMaps[M any](form bind.Form[M, M]) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     "codec=cbor",
		module:   "github.com/fxamacker/cbor/v2",
		can:      []op{opEncode, opDecode},
		utf8:     "error",
		settings: map[string]string{"buffer": "kept", "structs": "maps by field name"},
	}, func() (structCodec, error) {
		mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.UserBufferEncMode()
		if err != nil {
			return structCodec{}, err
		}
		var buf bytes.Buffer
		return structCodec{
			encode: func(_ []byte, v any) ([]byte, error) {
				buf.Reset()
				err := mode.MarshalToBuffer(v, &buf)
				return buf.Bytes(), err
			},
			marshal: mode.Marshal,
			decode:  cbor.Unmarshal,
		}, nil
	})
}
