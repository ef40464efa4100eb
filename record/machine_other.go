//go:build !linux

package record

import "time"

// ThisMachine describes the machine. On this operating system only what the Go
// runtime knows is found out, and the sampling time is not used.
func ThisMachine(time.Duration) Machine { return portable() }
