package process

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts the plug-in into a process group of its own, which Ctrl-C
// does not reach, and lets the kernel kill it when the host dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// apply limits a process that has just started. RLIMIT_DATA rather than
// RLIMIT_AS: an idle Go process maps 1.7 GB without using them.
func (l Limits) apply(pid int) error {
	set := func(resource int, limit uint64) error {
		if limit == 0 {
			return nil
		}
		return ignoreGone(unix.Prlimit(pid, resource, &unix.Rlimit{Cur: limit, Max: limit}, nil))
	}
	err := errors.Join(
		set(unix.RLIMIT_DATA, l.Memory),
		set(unix.RLIMIT_NOFILE, l.Files),
		ignoreGone(unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)),
	)
	// When memory runs out, the plug-in goes before the run does. A kernel
	// without this file has no such choice.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
	return err
}

// ignoreGone: a process that has ended already needs no limits, and its end
// is reported elsewhere.
func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
