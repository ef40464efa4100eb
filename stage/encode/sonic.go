package encode

import (
	"errors"
	"io"
	"reflect"

	"github.com/bytedance/sonic"

	"postage/stage/encode/internal/bind"
)

// sonicJSON is ByteDance's sonic, which compiles a decoder and an encoder when it first sees a
// type; that happens before the timed part. ConfigStd behaves like encoding/json. ConfigDefault
// does not sort maps, escape HTML or validate strings.
func sonicJSON[M any](form bind.Form[M, M], std bool) contender[M] {
	api, name, utf8 := sonic.ConfigDefault, "codec=sonic/config=default", "kept"
	if std {
		api, name, utf8 = sonic.ConfigStd, "codec=sonic/config=std", "replaced"
	}
	return ofStructs(form, codec[M, M]{
		name:     name,
		module:   "github.com/bytedance/sonic",
		can:      []op{opEncode, opDecode},
		loses:    "-0, NaN",
		utf8:     utf8,
		settings: map[string]string{"buffer": "kept"},
		check: func() error {
			if sonic.APIKind != sonic.UseSonicJSON { // it would be encoding/json under another name
				return errors.New("sonic does not support this Go version or processor and has fallen back to encoding/json")
			}
			return nil
		},
	}, func() (structCodec, error) {
		if err := sonic.Pretouch(reflect.TypeFor[M]()); err != nil {
			return structCodec{}, err
		}
		return structCodec{
			encode:  intoBuffer(func(w io.Writer) sonic.Encoder { return api.NewEncoder(w) }, "\n"),
			marshal: api.Marshal,
			decode:  api.Unmarshal,
		}, nil
	})
}
