//go:build unix && !linux

package postgres

import "syscall"

// stopWithParent leaves it to the watchdog: only Linux has a signal for this.
func stopWithParent(*syscall.SysProcAttr) {}
