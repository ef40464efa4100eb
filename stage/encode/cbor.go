package encode

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"

	"postage/stage/encode/internal/bind"
)

// cborMaps is fxamacker's CBOR, with structs written as maps by field name, and times as whole
// seconds.
func cborMaps[M any](form bind.Form[M, M]) contender[M] {
	return cborTimes(form, "codec=cbor", cbor.TimeUnix)
}

// cborTimes is the same with times in another mode: in TimeRFC3339Nano they keep their fractions.
func cborTimes[M any](form bind.Form[M, M], name string, times cbor.TimeMode) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     name,
		module:   "github.com/fxamacker/cbor/v2",
		can:      []op{opEncode, opDecode},
		utf8:     "error",
		settings: map[string]string{"buffer": "kept", "structs": "maps by field name"},
	}, func() (structCodec, error) {
		mode, err := cbor.EncOptions{Time: times}.UserBufferEncMode()
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
