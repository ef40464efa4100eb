//go:build !amd64 || purego

package validutf8

import "unicode/utf8"

func mixed(p []byte) bool { return utf8.Valid(p) }
