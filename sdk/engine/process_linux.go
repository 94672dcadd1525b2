package engine

import "syscall"

// attributes puts the server into a process group of its own, which Ctrl-C does not
// reach, and lets the kernel kill it when this process dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
