//go:build !linux

package peer

import "syscall"

// dieWithParent has nothing to do here: the server ends when its standard input does.
func dieWithParent() *syscall.SysProcAttr { return nil }
