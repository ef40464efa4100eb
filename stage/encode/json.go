package encode

import (
	"encoding/json"

	"postage/stage/encode/internal/bind"
)

// jsonStd is the standard library's encoding/json: an Encoder that writes to a kept buffer, or
// Marshal, which returns fresh bytes.
func jsonStd[M any](form bind.Form[M, M], reuse bool) contender[M] {
	c := codec[M, M]{
		name:     "codec=json",
		can:      []op{opEncode, opDecode},
		loses:    "NaN",
		utf8:     "replaced",
		settings: map[string]string{"buffer": "kept"},
	}
	if !reuse {
		c.name, c.can, c.settings = "codec=json/reuse=no", []op{opEncode}, nil
	}
	return ofStructs(form, c, func() (structCodec, error) {
		lib := structCodec{encode: intoBuffer(json.NewEncoder, "\n"), marshal: json.Marshal, decode: json.Unmarshal}
		if !reuse {
			lib.encode = func(_ []byte, v any) ([]byte, error) { return json.Marshal(v) }
		}
		return lib, nil
	})
}
