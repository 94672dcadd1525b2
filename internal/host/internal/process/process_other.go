//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes puts the plug-in into its own process group, which Ctrl-C does not reach.
// The guard makes sure that the plug-in does not outlive the host.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// start runs cmd without limits: only Linux limits another process.
func (Limits) start(cmd *exec.Cmd) error { return cmd.Start() }
