package proc

import "syscall"

// dieWithThread has the kernel send a program the signal when the thread that started it
// ends, to which its starter's goroutine is to be locked.
func dieWithThread(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
