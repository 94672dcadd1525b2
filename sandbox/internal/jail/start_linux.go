package jail

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is this program even if its file was replaced since it started.
func self() (string, error) { return "/proc/self/exe", nil }

// attributes put the process in a group of its own, so that a terminal's
// interrupt does not reach it, and let it die with us.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
}

func forbidden(s *os.ProcessState) bool {
	w, ok := s.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == unix.SIGSYS
}
