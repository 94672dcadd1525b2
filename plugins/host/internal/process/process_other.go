//go:build unix && !linux

package process

import "syscall"

// attributes puts the plug-in into a process group of its own, which Ctrl-C
// does not reach. The SDK sees to it that it does not outlive the host.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// apply does nothing: only Linux limits another process.
func (Limits) apply(int) error { return nil }
