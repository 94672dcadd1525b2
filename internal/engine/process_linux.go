package engine

import "syscall"

// Attributes puts a process into a process group of its own, which Ctrl-C does not
// reach, and lets the kernel kill it when this process dies.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
