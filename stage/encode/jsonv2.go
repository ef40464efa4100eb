package encode

import (
	"bytes"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"postage/stage/encode/internal/bind"
)

// generatedTags is for structs with generated tags, whose omitempty is meant as encoding/json has
// it. The second version by itself would leave out a pointer to an empty text, too.
var generatedTags = jsonv1.OmitEmptyWithLegacySemantics(true)

// jsonV2 is the successor of encoding/json, in its module outside the standard library.
func jsonV2[M any](form bind.Form[M, M], options ...jsonv2.Options) contender[M] {
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
				err := jsonv2.MarshalWrite(&buf, v, options...)
				return buf.Bytes(), err
			},
			marshal: func(v any) ([]byte, error) { return jsonv2.Marshal(v, options...) },
			decode:  func(data []byte, v any) error { return jsonv2.Unmarshal(data, v) },
		}, nil
	})
}
