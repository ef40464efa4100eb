package bind

import (
	"math"
	"unsafe"
)

//lint:file-ignore U1000 only code generated for brought messages calls some of these

func sameFloat(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// int32s returns a list of enums as a list of numbers, without copying.
func int32s[E ~int32](list *[]E) *[]int32 { return (*[]int32)(unsafe.Pointer(list)) }
