//go:build unix && !linux

package engine

import "syscall"

// Attributes puts a process into a process group of its own, which Ctrl-C does not
// reach.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
