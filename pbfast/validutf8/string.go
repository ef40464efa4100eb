package validutf8

import "unsafe"

// String reports whether s is UTF-8.
func String(s string) bool {
	return Valid(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// Mixed is String for text that is known not to be all ASCII: it does not look whether it is.
func Mixed(s string) bool {
	return mixed(unsafe.Slice(unsafe.StringData(s), len(s)))
}
