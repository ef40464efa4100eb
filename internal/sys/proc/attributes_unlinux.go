//go:build !linux

package proc

import "syscall"

// dieWithThread does nothing: only Linux has a signal for this.
func dieWithThread(*syscall.SysProcAttr, syscall.Signal) {}
