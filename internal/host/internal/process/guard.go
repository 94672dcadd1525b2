package process

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watch is the guard's script. It reads from a pipe that only the host holds open, so
// it wakes when the host exits for any reason, and kills the group.
const watch = `read -r _; kill -9 "-$1"`

// guard is a small process that outlives the host by a moment to kill the plug-in's
// process group. On Linux the kernel kills the plug-in itself when the host dies, but
// not the plug-in's children.
type guard struct {
	cmd  *exec.Cmd
	hold *os.File // the host's end of the pipe
}

// newGuard starts a guard for a process group. On a system without a shell it returns
// nil; if the host is killed there, the plug-in's children survive.
func newGuard(group int) *guard {
	read, hold, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", watch, "merit-guard", strconv.Itoa(group))
	cmd.Env, cmd.Stdin = []string{}, read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // otherwise Ctrl-C would stop the guard first
	if err := cmd.Start(); err != nil {
		_ = hold.Close()
		return nil
	}
	return &guard{cmd: cmd, hold: hold}
}

// dismiss stops the guard before the system can reuse the group's number.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.hold.Close()
}
