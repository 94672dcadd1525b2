package process

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watch is what the guard runs: it waits for the end of a pipe that nobody but
// the host holds open, and so for the end of the host, however it comes.
const watch = `read -r _; kill -9 "-$1"`

// guard is a small process that outlives the host by a moment, to end the
// group of a plug-in with it. The kernel ends the plug-in itself (on Linux), but
// none of its children.
type guard struct {
	cmd  *exec.Cmd
	hold *os.File // the host's end of the pipe
}

// newGuard guards a group. A system without a shell has no guard, and a host
// that is killed there leaves the plug-in's children behind.
func newGuard(group int) *guard {
	read, hold, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", watch, "merit-guard", strconv.Itoa(group))
	cmd.Env, cmd.Stdin = []string{}, read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // or Ctrl-C would end it first
	if err := cmd.Start(); err != nil {
		_ = hold.Close()
		return nil
	}
	return &guard{cmd: cmd, hold: hold}
}

// dismiss ends the guard before its group's number may belong to others.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.hold.Close()
}
