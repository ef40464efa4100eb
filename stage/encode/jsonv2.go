package encode

import (
	"bytes"

	jsonv2 "github.com/go-json-experiment/json"

	"postage/stage/encode/internal/bind"
)

// jsonV2 is the successor of encoding/json, in its module outside the standard library.
func jsonV2[M any](form bind.Form[M, M]) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     "codec=jsonv2",
		module:   "github.com/go-json-experiment/json",
		can:      []op{opEncode, opDecode},
		loses:    "NaN",
		utf8:     "error",
		settings: map[string]string{"buffer": "kept"},
	}, func() (structCodec, error) {
		var buf bytes.Buffer
		return structCodec{
			encode: func(_ []byte, v any) ([]byte, error) {
				buf.Reset()
				err := jsonv2.MarshalWrite(&buf, v)
				return buf.Bytes(), err
			},
			decode: func(data []byte, v any) error { return jsonv2.Unmarshal(data, v) },
		}, nil
	})
}
