//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package webpush

import "os"

// lock does nothing: the standard library has no lock for this system.
func lock(*os.File) error { return nil }
