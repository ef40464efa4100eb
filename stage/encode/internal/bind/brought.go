package bind

import (
	"math"
	"unsafe"

	"github.com/mus-format/mus-go"
	"github.com/mus-format/mus-go/ord"
)

//lint:file-ignore U1000 only code generated for brought messages calls some of these

func sameFloat(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// int32s returns a list of enums as a list of numbers, without copying.
func int32s[E ~int32](list *[]E) *[]int32 { return (*[]int32)(unsafe.Pointer(list)) }

// optionalBytes is mus's pointer serializer for bytes that are nil if absent.
type optionalBytes struct{}

func (optionalBytes) Size(v []byte) int {
	if v == nil {
		return 1
	}
	return 1 + ord.ByteSlice.Size(v)
}

func (optionalBytes) Marshal(v []byte, bs []byte) int {
	bs[0] = byte(bit(v != nil))
	if v == nil {
		return 1
	}
	return 1 + ord.ByteSlice.Marshal(v, bs[1:])
}

func (optionalBytes) Unmarshal(bs []byte) (v []byte, n int, err error) {
	if len(bs) == 0 {
		return nil, 0, mus.ErrTooSmallByteSlice
	}
	if bs[0] == 0 {
		return nil, 1, nil
	}
	v, n, err = ord.ByteSlice.Unmarshal(bs[1:])
	return v, n + 1, err
}

func (optionalBytes) Skip(bs []byte) (n int, err error) {
	if len(bs) == 0 {
		return 0, mus.ErrTooSmallByteSlice
	}
	if bs[0] == 0 {
		return 1, nil
	}
	n, err = ord.ByteSlice.Skip(bs[1:])
	return n + 1, err
}
