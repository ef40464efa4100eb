package encode

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	klauspost "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

const moduleCompress = "github.com/klauspost/compress"

// A compression is one way to make encoded messages smaller.
type compression struct {
	name, module string
	settings     map[string]string
	open         func() (packer, error)
}

// compressions are the ways in which messages are packed. Each message is compressed alone;
// encoders, decoders and buffers are kept.
var compressions = []compression{
	{name: packBaseline, open: func() (packer, error) { return packer{}, nil }},
	{name: "pack=gzip/level=6", open: func() (packer, error) {
		w, err := gzip.NewWriterLevel(nil, 6)
		return streams(w, new(gzip.Reader)), err
	}},
	{name: "pack=gzip/level=6/library=klauspost", module: moduleCompress, open: func() (packer, error) {
		w, err := klauspost.NewWriterLevel(nil, 6)
		return streams(w, new(klauspost.Reader)), err
	}},
	{name: "pack=zstd/level=1", module: moduleCompress, settings: zstdSettings("fastest"), open: zstdAt(zstd.SpeedFastest)},
	{name: "pack=zstd/level=3", module: moduleCompress, settings: zstdSettings("default"), open: zstdAt(zstd.SpeedDefault)},
	{name: "pack=s2", module: moduleCompress, settings: map[string]string{"format": "block"}, open: func() (packer, error) { return s2Blocks, nil }},
}

// OpenPacker opens a compression by its rows' name. Each function returns memory that its next call
// overwrites. For the row that compresses nothing, both are nil.
func OpenPacker(name string) (pack, unpack func(data []byte) ([]byte, error), err error) {
	for _, how := range compressions {
		if how.name != name {
			continue
		}
		p, err := how.open()
		if err != nil || p.pack == nil {
			return nil, nil, err
		}
		var wire, plain []byte
		return func(data []byte) (_ []byte, err error) { wire, err = p.pack(wire, data); return wire, err },
			func(data []byte) (_ []byte, err error) { plain, err = p.unpack(plain, data); return plain, err }, nil
	}
	return nil, nil, fmt.Errorf("encode: there is no compression %q", name)
}

// zstdSettings returns a zstd row's settings. The library has its own names for levels.
func zstdSettings(level string) map[string]string {
	return map[string]string{"encoder-level": level, "concurrency": "1"}
}

func zstdAt(level zstd.EncoderLevel) func() (packer, error) {
	return func() (packer, error) {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return packer{}, err
		}
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return packer{}, err
		}
		return packer{
			pack:   func(dst, src []byte) ([]byte, error) { return encoder.EncodeAll(src, dst[:0]), nil },
			unpack: func(dst, src []byte) ([]byte, error) { return decoder.DecodeAll(src, dst[:0]) },
		}, nil
	}
}

// streams compresses with a writer and decompresses with a reader, both reset for each message.
func streams(w interface {
	io.WriteCloser
	Reset(io.Writer)
}, r interface {
	io.Reader
	Reset(io.Reader) error
}) packer {
	var out, back bytes.Buffer
	var in bytes.Reader
	return packer{
		pack: func(_, src []byte) ([]byte, error) {
			out.Reset()
			w.Reset(&out)
			if _, err := w.Write(src); err != nil {
				return nil, err
			}
			err := w.Close()
			return out.Bytes(), err
		},
		unpack: func(_, src []byte) ([]byte, error) {
			in.Reset(src)
			if err := r.Reset(&in); err != nil {
				return nil, err
			}
			back.Reset()
			_, err := back.ReadFrom(r)
			return back.Bytes(), err
		},
	}
}

// s2Blocks grow the memory that they are given, if necessary.
var s2Blocks = packer{
	pack:   func(dst, src []byte) ([]byte, error) { return s2.Encode(dst[:cap(dst)], src), nil },
	unpack: func(dst, src []byte) ([]byte, error) { return s2.Decode(dst[:cap(dst)], src) },
}
