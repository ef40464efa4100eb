package validutf8

import "unsafe"

// String reports whether s is UTF-8.
func String(s string) bool {
	return Valid(unsafe.Slice(unsafe.StringData(s), len(s)))
}
