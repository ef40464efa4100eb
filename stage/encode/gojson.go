package encode

import (
	gojson "github.com/goccy/go-json"

	"postage/stage/encode/internal/bind"
)

// goJSON is goccy's go-json, a replacement for encoding/json.
func goJSON[M any](form bind.Form[M, M]) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     "codec=go-json",
		module:   "github.com/goccy/go-json",
		can:      []op{opEncode, opDecode},
		loses:    "NaN",
		utf8:     "replaced",
		settings: map[string]string{"buffer": "kept"},
	}, func() (structCodec, error) {
		return structCodec{encode: intoBuffer(gojson.NewEncoder, "\n"), marshal: gojson.Marshal, decode: gojson.Unmarshal}, nil
	})
}
