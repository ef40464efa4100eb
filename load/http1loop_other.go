//go:build !linux

package load

// openHTTP1Loops adds nothing: a goroutine a connection does it.
func openHTTP1Loops(*Target, *Pool, func() http1Request) (ok bool, err error) { return false, nil }
