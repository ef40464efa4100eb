//go:build !linux

package child

import "syscall"

// DieWithThread does nothing: only Linux has a signal for this.
func DieWithThread(*syscall.SysProcAttr, syscall.Signal) {}
