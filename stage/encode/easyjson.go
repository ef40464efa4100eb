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
func easyJSON[M any, P easyjsonMessage[M]](form bind.Form[M, M]) contender[M] {
	return &codec[M, M]{
		name:     "codec=easyjson",
		module:   "github.com/mailru/easyjson",
		form:     form,
		can:      []op{opEncode, opDecode},
		loses:    "NaN",
		utf8:     "kept",
		settings: map[string]string{"buffer": "kept where the message takes more than one chunk"},
		open: func() (loops[M, M], error) {
			return loops[M, M]{
				encode: func(r *run[M, M], n int) (err error) {
					for range n {
						w := jwriter.Writer{} // of the chunks in its pool
						P(r.value()).MarshalEasyJSON(&w)
						if r.out, err = w.BuildBytes(r.out[:0]); err != nil {
							return err
						}
					}
					return nil
				},
				decode: func(r *run[M, M], n int) error {
					for range n {
						if err := easyjson.Unmarshal(r.input(), P(r.into())); err != nil {
							return err
						}
						if err := r.took(); err != nil {
							return err
						}
					}
					return nil
				},
			}, nil
		},
	}
}
