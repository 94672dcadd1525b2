package process

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes puts the plug-in into its own process group, which Ctrl-C does not reach,
// and makes the kernel kill it when the host dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// start runs cmd under l. The kernel stops a traced process between its exec and its
// first instruction. Start sets the limits there and releases the process. Where
// tracing is not allowed, it sets the limits a moment after the start.
func (l Limits) start(cmd *exec.Cmd) error {
	runtime.LockOSThread() // ptrace belongs to this thread
	defer runtime.UnlockOSThread()
	untraced := *cmd
	cmd.SysProcAttr.Ptrace = true
	err := cmd.Start()
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSYS) {
		if err != nil {
			return err
		}
		return l.release(cmd.Process.Pid)
	}
	*cmd = untraced
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return err
	}
	return l.apply(cmd.Process.Pid)
}

// release sets the limits of a process that is about to stop, and continues it. If the
// process is killed meanwhile, its parent still has to wait for it.
func (l Limits) release(pid int) error {
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	return errors.Join(l.apply(pid), ignoreGone(unix.PtraceDetach(pid)))
}

// apply limits a process. It uses RLIMIT_DATA instead of RLIMIT_AS because an idle Go
// process maps 1.7 GB without using it.
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
		set(unix.RLIMIT_CPU, uint64((l.CPUTime+time.Second-1)/time.Second)),
		ignoreGone(unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)),
		l.confine(pid),
	)
	// When memory runs out, the kernel should kill the plug-in before the run. A kernel
	// without this file has no such setting.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
	return err
}

// confine restricts a process and its children to l.CPU of the CPUs that this process
// may use. Each call starts at another CPU, so that plug-ins spread over the CPUs.
func (l Limits) confine(pid int) error {
	if l.CPU == 0 {
		return nil
	}
	var ours unix.CPUSet
	if err := unix.SchedGetaffinity(0, &ours); err != nil {
		return err
	}
	var all []int
	for i := range len(ours) * strconv.IntSize {
		if ours.IsSet(i) {
			all = append(all, i)
		}
	}
	var own unix.CPUSet
	for i := range min(l.CPU, len(all)) {
		own.Set(all[(pid+i)%len(all)])
	}
	return ignoreGone(unix.SchedSetaffinity(pid, &own))
}

// ignoreGone drops the error of a process that has already exited: it needs no limits,
// and its exit is reported elsewhere.
func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
