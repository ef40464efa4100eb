package proc

import "syscall"

// dieWithThread has the kernel send a program the signal when the thread that started it ends. The
// goroutine that starts it must be locked to that thread.
func dieWithThread(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
