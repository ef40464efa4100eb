package encode

import (
	"io"

	"github.com/vmihailenco/msgpack/v5"

	"postage/stage/encode/internal/bind"
)

// msgPackReflect is vmihailenco's msgpack: MessagePack with reflection, structs as maps by field
// name.
func msgPackReflect[M any](form bind.Form[M, M]) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     "codec=msgpack",
		module:   "github.com/vmihailenco/msgpack/v5",
		can:      []op{opEncode, opDecode},
		damage:   damageUnbounded,
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept", "structs": "maps by field name"},
	}, func() (structCodec, error) {
		return structCodec{
			encode:  intoBuffer(func(w io.Writer) *msgpack.Encoder { return msgpack.NewEncoder(w) }, ""),
			marshal: msgpack.Marshal,
			decode:  msgpack.Unmarshal,
		}, nil
	})
}
