package encode

import (
	"github.com/twmb/avro"

	"postage/stage/encode/internal/bind"
)

// avroBinary is twmb's Avro: binary encoding by a schema inferred from the plain struct. Reading a
// message takes its schema.
func avroBinary[M any](form bind.Form[M, M]) contender[M] {
	return ofStructs(form, codec[M, M]{
		name:     "codec=avro",
		module:   "github.com/twmb/avro",
		can:      []op{opEncode, opDecode},
		loses:    "largest uint64",
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept", "schema": "not in the message"},
	}, func() (structCodec, error) {
		schema, err := avro.SchemaFor[M]()
		if err != nil {
			return structCodec{}, err
		}
		return structCodec{
			encode: func(buf []byte, v any) ([]byte, error) { return schema.AppendEncode(buf, v) },
			decode: func(data []byte, v any) error {
				_, err := schema.Decode(data, v)
				return err
			},
		}, nil
	})
}
