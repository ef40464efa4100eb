package send

import (
	"errors"
	"syscall"
)

// isReset reports whether the other end has already closed the connection.
func isReset(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
