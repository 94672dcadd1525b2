package jail_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/sandbox/internal/jail"
)

const trial = "wall-trial:"

// deeds are what a guest that escaped would try.
var deeds = map[string]func() error{
	"open to read":  func() error { _, err := os.Open("/etc/hostname"); return err },
	"open to write": func() error { return os.WriteFile("/dev/null", nil, 0o600) },
	"list":          func() error { _, err := os.ReadDir("/"); return err },
	"remove":        func() error { return unix.Unlink("/nowhere") },
	"pipe":          func() error { return unix.Pipe2(make([]int, 2), 0) },
	"priority":      func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -1) },
	"more files": func() error {
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1000, Max: 1000})
	},
	"terminal":        func() error { _, err := unix.IoctlGetTermios(0, unix.TCGETS); return err },
	"exec":            func() error { return unix.Exec("/bin/true", []string{"true"}, nil) },
	"command":         func() error { return exec.Command("/bin/true").Run() },
	"socket":          func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
	"connect":         func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return err },
	"ptrace":          func() error { return unix.PtraceAttach(os.Getppid()) },
	"kill the parent": func() error { return unix.Kill(os.Getppid(), 0) },
	"signal a thread": func() error { return unix.Tgkill(os.Getppid(), os.Getppid(), 0) },
	"user namespace":  func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"much memory": func() error {
		for b := []byte(nil); ; {
			b = append(b, make([]byte, 64<<20)...)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
		}
	},
	"much time": func() error {
		for start := time.Now(); time.Since(start) < time.Minute; {
		}
		return nil
	},
	"large file": func() error {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return err
		}
		return unix.Ftruncate(fd, 2<<20)
	},
	"compute": func() error {
		done := make(chan struct{})
		for range 20 {
			go func() { time.Sleep(time.Millisecond); _ = make([]byte, 1<<20); done <- struct{}{} }()
		}
		for range 20 {
			<-done
		}
		return nil
	},
	"environment": func() error {
		if n := len(os.Environ()); n > 2 {
			return fmt.Errorf("%d variables", n)
		}
		return nil
	},
	"inherited file": func() error {
		_, err := unix.FcntlInt(inherited, unix.F_GETFD, 0)
		return err
	},
}

// inherited is a file that the test leaves open on purpose.
const inherited = 20

func TestMain(m *testing.M) {
	if len(os.Args) != 2 || len(os.Args[1]) <= len(trial) || os.Args[1][:len(trial)] != trial {
		os.Exit(m.Run())
	}
	deed, limits := os.Args[1][len(trial):], jail.Limits{MemoryBytes: 512 << 20, FileBytes: 1 << 20, CPU: time.Minute}
	if deed == "much time" {
		limits.CPU = time.Second
	}
	measures, err := jail.Enter(limits)
	result := struct {
		Measures jail.Measures
		Enter    string
		Deed     string
		Number   syscall.Errno
	}{Measures: measures}
	if err != nil {
		result.Enter = err.Error()
	} else if err := deeds[deed](); err != nil {
		result.Deed = err.Error()
		errors.As(err, &result.Number)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

// Promise: a process behind the wall can compute, and nothing else: no files,
// programs, sockets, other processes, more memory or more rights.
func TestNothingGetsOverTheWall(t *testing.T) {
	file, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, unix.Dup3(int(file.Fd()), inherited, 0))
	defer unix.Close(inherited)
	const dies = syscall.Errno(0xffff)
	for name, want := range map[string]syscall.Errno{
		"compute": 0, "environment": 0, "inherited file": unix.EBADF,
		"open to read": unix.EPERM, "open to write": unix.EPERM, "list": unix.EPERM, "remove": unix.EPERM, "pipe": unix.EPERM,
		"priority": unix.EPERM, "more files": unix.EPERM, "terminal": unix.EPERM, "large file": unix.EFBIG, "command": unix.EPERM,
		"exec": dies, "socket": dies, "connect": dies, "ptrace": dies, "kill the parent": dies, "signal a thread": dies,
		"user namespace": dies, "much memory": dies,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := jail.Start(trial + name)
			require.NoError(t, err)
			out, err := io.ReadAll(p.Out)
			require.NoError(t, err)
			death := p.Death(time.Minute)
			if want == dies {
				require.Empty(t, out)
				require.Equal(t, name == "much memory", death.OutOfMemory, death.Text)
				require.Equal(t, name != "much memory", death.Forbidden, death.Text)
				return
			}
			var got struct {
				Measures    jail.Measures
				Enter, Deed string
				Number      syscall.Errno
			}
			require.NoError(t, json.Unmarshal(out, &got), death.Text)
			require.Empty(t, got.Enter)
			require.Contains(t, got.Measures.InForce, "seccomp")
			require.Empty(t, got.Measures.Missing)
			require.Equal(t, want, got.Number, got.Deed)
			require.Equal(t, want == 0, got.Deed == "", got.Deed)
		})
	}
}

// Promise: a process that has used up its processor time is ended by the
// system, without a word.
func TestProcessorTimeIsLimited(t *testing.T) {
	p, err := jail.Start(trial + "much time")
	require.NoError(t, err)
	out, err := io.ReadAll(p.Out)
	require.NoError(t, err)
	require.Empty(t, string(out), "it ended by itself")
	death := p.Death(time.Minute)
	require.False(t, death.OutOfMemory || death.Forbidden, death.Text)
	require.Contains(t, death.Text, "signal: killed")
}

// Promise: killing a process that spins takes no time, and says what happened.
func TestKill(t *testing.T) {
	p, err := jail.Start(trial + "compute")
	require.NoError(t, err)
	require.Positive(t, p.PID())
	require.NotEmpty(t, p.Kill().Text)
	<-p.Done()
	require.Equal(t, p.Kill(), p.Death(time.Minute), "twice is as good as once")
}
