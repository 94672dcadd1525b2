//go:build amd64 || arm64

package jail

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// allowed lists the system calls that Go's runtime and wazero need once
// everything is open: memory, threads, time, signals, the pipes, and in-memory
// files for snapshots.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FCNTL,
	unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE,
	unix.SYS_MEMFD_CREATE, unix.SYS_FTRUNCATE,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
	unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM, unix.SYS_MEMBARRIER,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// deadly lists system calls that only an escaped guest would make; they kill
// the process. Any other call, such as opening a file, fails with EPERM.
var deadly = []uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_SENDTO, unix.SYS_SENDMSG,
	unix.SYS_MOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_KEXEC_LOAD,
}

// pagemapScan is _IOWR('f', 16, struct pm_scan_arg): how the engine finds
// dirty pages.
const pagemapScan = 0xc0606610

var (
	allow  = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	die    = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
	deny   = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	absent = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
)

// Offsets in struct seccomp_data; an argument has its low half first.
const (
	dataCall  = 0
	dataArch  = 4
	dataFirst = 16
	dataNext  = 8
)

// program is the filter.
func program(pid uint32) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		die,
		bpf.LoadAbsolute{Off: dataCall, Size: 4},
	}
	is := func(call uint32, then ...bpf.Instruction) {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: uint8(len(then))})
		p = append(p, then...)
	}
	argument := func(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: dataFirst + n*dataNext, Size: 4} }
	for _, call := range append(allowed, allowedHere...) {
		is(call, allow)
	}
	// Threads, but no processes; clone3 hides its flags, and libraries that
	// want it go back to clone when it does not exist.
	is(unix.SYS_CLONE, argument(0), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipFalse: 1}, allow, die)
	is(unix.SYS_CLONE3, absent)
	// Go's preemption signals its own threads.
	is(unix.SYS_TGKILL, argument(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: pid, SkipFalse: 1}, allow, die)
	is(unix.SYS_IOCTL, argument(1), bpf.JumpIf{Cond: bpf.JumpEqual, Val: pagemapScan, SkipFalse: 1}, allow, deny)
	for _, call := range append(deadly, deadlyHere...) {
		is(call, die)
	}
	return append(p, deny)
}

// filter installs the program in every thread. The calling thread must have
// no_new_privs.
func filter() (missing string, err error) {
	raw, err := bpf.Assemble(program(uint32(os.Getpid())))
	if err != nil {
		return "", err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno == unix.ENOSYS || errno == unix.EINVAL:
		return "seccomp: this kernel has no filters", nil
	case errno != 0:
		return "", errno
	case thread != 0:
		return "", errors.New("a thread could not take the filter over")
	}
	return "", nil
}
