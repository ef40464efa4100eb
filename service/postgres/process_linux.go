package postgres

import "syscall"

// stopWithParent has the kernel send an immediate shutdown to the server when we die.
func stopWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
