//go:build !linux

package load

// http2Line returns what the engines of HTTP/2 have in common.
func http2Line(line Line) *http2 { return line.(*http2) }
