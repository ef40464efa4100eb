//go:build !linux

package machine

import (
	"time"

	"postage/record"
)

// Read describes the machine. On this operating system only what the Go
// runtime knows is found out, and the sampling time is not used.
func Read(time.Duration) record.Machine { return portable() }
