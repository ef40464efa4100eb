//go:build race

package encode

// The race detector turns on checks of pointer arithmetic, which end the process when
// hyperpb v0.1.3 validates UTF-8: it casts a pointer near the end of a text to one of
// more bytes than are left.
const racing = true
