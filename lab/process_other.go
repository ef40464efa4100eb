//go:build !unix

package lab

import "syscall"

func workerAttributes() *syscall.SysProcAttr { return nil }

// killGroup has no process group to end here; the worker itself is killed.
func killGroup(int) {}
