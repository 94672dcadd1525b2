//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes puts the plug-in into a process group of its own, which Ctrl-C
// does not reach. The guard sees to it that it does not outlive the host.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// start runs cmd without limits: only Linux limits another process.
func (Limits) start(cmd *exec.Cmd) error { return cmd.Start() }
