//go:build !linux

package load

// openHTTP1Loops adds nothing: here each connection has a goroutine.
func openHTTP1Loops(*Target, *Pool, func() http1Request) (ok bool, err error) { return false, nil }

// openHTTP2Loops adds nothing either.
func openHTTP2Loops(*Target, *Pool, func() *http2) (ok bool, err error) { return false, nil }
