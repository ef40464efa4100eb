package encode

import (
	"bytes"
	"io"

	"postage/stage/encode/internal/bind"
)

// A structCodec encodes any Go struct. It is for codecs that use reflection, or that reach methods
// of the plain structs through an interface.
type structCodec struct {
	encode func(buf []byte, v any) ([]byte, error) // into buf if the library can do that
	// marshal returns fresh bytes; nil if encode does that with a nil buffer.
	marshal func(v any) ([]byte, error)
	decode  func(data []byte, v any) error
}

// ofStructs adapts a struct codec to a message. v is always a pointer to a plain struct.
func ofStructs[M any](form bind.Form[M, M], c codec[M, M], open func() (structCodec, error)) contender[M] {
	c.form = form
	c.open = func() (loops[M, M], error) {
		lib, err := open()
		if err != nil {
			return loops[M, M]{}, err
		}
		var fresh func(*run[M, M], int) error
		if lib.marshal != nil {
			fresh = encodeBy[M, M](func(_ []byte, v *M) ([]byte, error) { return lib.marshal(v) })
		}
		return loops[M, M]{
			fresh:  fresh,
			encode: encodeBy[M, M](func(buf []byte, v *M) ([]byte, error) { return lib.encode(buf, v) }),
			decode: decodeBy[M, M](func(v *M, data []byte) error { return lib.decode(data, v) }),
		}, nil
	}
	return &c
}

// intoBuffer makes a structCodec's encode from an encoder that writes to an io.Writer, such as
// encoding/json's: one encoder, writing to one kept buffer. It leaves out what the encoder adds
// after a message (JSON encoders add a line end).
func intoBuffer[E interface{ Encode(any) error }](newEncoder func(io.Writer) E, end string) func([]byte, any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := newEncoder(&buf)
	suffix := []byte(end)
	return func(_ []byte, v any) ([]byte, error) {
		buf.Reset()
		err := encoder.Encode(v)
		return bytes.TrimSuffix(buf.Bytes(), suffix), err
	}
}
