//go:build !unix

package load

import "net"

// pending knows nothing: the goroutine that reads tells a moment later.
func pending(net.Conn) bool { return false }
