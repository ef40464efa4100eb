package send

import (
	"errors"
	"syscall"
)

// isReset says whether the other end has closed the connection already.
func isReset(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
