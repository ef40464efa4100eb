package encode

import (
	"github.com/mailru/easyjson"
	"github.com/mailru/easyjson/jwriter"

	"postage/stage/encode/internal/bind"
)

type easyjsonMessage[M any] interface {
	*M
	easyjson.Marshaler
	easyjson.Unmarshaler
}

// easyJSON is mailru's easyjson: JSON with generated methods.
//
//encodegen:rows easyjson codec=easyjson: easyJSON(k.Plain)
func easyJSON[M any, P easyjsonMessage[M]](form bind.Form[M, M]) contender[M] {
	return &codec[M, M]{
		name:     "codec=easyjson",
		module:   "github.com/mailru/easyjson",
		form:     form,
		can:      []op{opEncode, opDecode},
		loses:    "NaN",
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept where the message takes more than one chunk"},
		loops: loops[M, M]{
			encode: encodeBy[M](func(buf []byte, v P) ([]byte, error) {
				w := jwriter.Writer{} // of the chunks in its pool
				v.MarshalEasyJSON(&w)
				return w.BuildBytes(buf)
			}),
			decode: decodeBy[M, M](func(v P, data []byte) error { return easyjson.Unmarshal(data, v) }),
		},
	}
}
