//go:build unix && !linux

package engine

import "syscall"

// attributes puts the server into a process group of its own, which Ctrl-C does not
// reach.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
