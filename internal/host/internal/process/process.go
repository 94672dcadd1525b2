// Package process runs a plug-in's process group under limits and keeps the last of its
// output. It does not interpret the output.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/merit-rl/merit/core/fault"
)

// PipeGrace is how long the pipes of a dead plug-in may stay open in descendants that
// left its process group.
const PipeGrace = 100 * time.Millisecond

// Limits bound a plug-in's process. They are enforced only on Linux. Zero means no
// limit.
type Limits struct {
	// Memory is the private writable memory in bytes (RLIMIT_DATA).
	Memory uint64 `yaml:"memory" json:"memory"`
	// Files is the number of open files (RLIMIT_NOFILE).
	Files uint64 `yaml:"files" json:"files"`
	// CPU is how many CPUs the process and its children may use together. It limits a
	// rate, so a long run does not use it up.
	CPU int `yaml:"cpu" json:"cpu" jsonschema:"minimum=0"`
	// CPUTime is the total CPU time that one process may use (RLIMIT_CPU), in whole
	// seconds. It bounds programs whose behavior is unknown.
	CPUTime time.Duration `yaml:"cpu_time" json:"cpu_time"`
	// Output is how many bytes per second the plug-in may print before its writes
	// block.
	Output int `yaml:"output" json:"output" jsonschema:"minimum=0" hint:"1048576 is a good number; 0 for no limit"`
}

// Validate returns every problem of l, with key paths relative to the section.
func (l Limits) Validate() []error {
	p := fault.Validate(&l)
	if m := l.Memory; m != 0 && m < 64<<20 {
		p.Invalid("memory", fmt.Sprintf("%d bytes is too little for any process", m), "give at least 64 MiB, or 0 for no limit")
	}
	if f := l.Files; f != 0 && f < 32 {
		p.Invalid("files", fmt.Sprintf("%d open files are too few for gRPC", f), "give at least 32, or 0 for no limit")
	}
	p.Check(l.CPUTime == 0 || l.CPUTime >= time.Second, "cpu_time", l.CPUTime, "use whole seconds, or 0 for no limit")
	return p
}

// Process is a plug-in's process group with the interface that go-plugin expects. It
// replaces go-plugin's own runner, which shares stdin, leaves orphans and waits for
// grandchildren forever.
type Process struct {
	Cmd    *exec.Cmd
	limits Limits
	guard  *guard // nil if the system has none
	out    *Output
	stdout *os.File
	stderr *os.File

	Exited chan struct{} // closed when the process has been waited for
	State  *os.ProcessState

	mu        sync.Mutex
	pid       int
	ended     bool   // End was called
	handshake string // the first line of stdout
}

var _ runner.Runner = (*Process)(nil)

// New prepares cmd. Set the variables of cmd before Start.
func New(cmd *exec.Cmd, limits Limits, out *Output) *Process {
	return &Process{Cmd: cmd, limits: limits, out: out, Exited: make(chan struct{})}
}

// Start implements runner.Runner.
func (p *Process) Start(context.Context) error {
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return err
	}
	stderr, childErr, err := os.Pipe()
	if err != nil {
		return errors.Join(err, stdout.Close(), childOut.Close())
	}
	defer childOut.Close()
	defer childErr.Close()
	p.stdout, p.stderr = stdout, stderr
	p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = nil, childOut, childErr
	p.Cmd.SysProcAttr = attributes()
	// Start on a fresh goroutine, which runs on an ordinary thread: the kernel ties the
	// death signal to the thread that starts the child.
	started := make(chan error)
	go func() { started <- p.limits.start(p.Cmd) }()
	err = <-started
	if p.Cmd.Process == nil {
		return errors.Join(err, stdout.Close(), stderr.Close())
	}
	p.mu.Lock()
	p.pid = p.Cmd.Process.Pid
	ended := p.ended
	p.mu.Unlock()
	p.guard = newGuard(p.pid)
	go p.wait()
	if err != nil || ended {
		p.End()
	}
	return err
}

// wait reaps the process and then makes sure that its pipes end.
func (p *Process) wait() {
	_ = p.Cmd.Wait() // ignore the error: the state contains it
	p.State = p.Cmd.ProcessState
	p.signal()
	p.guard.dismiss()
	deadline := time.Now().Add(PipeGrace)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
	close(p.Exited)
}

// signal kills the whole group.
func (p *Process) signal() { _ = syscall.Kill(-p.pid, syscall.SIGKILL) }

// End kills the group, even one that is about to start. After the process has exited,
// End does nothing, because the system may have reused the number.
func (p *Process) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.pid == 0 {
		return
	}
	select {
	case <-p.Exited:
	default:
		p.signal()
	}
}

// Close frees the pipes of a process that has exited.
func (p *Process) Close() {
	if p.stdout != nil {
		_ = p.stdout.Close()
		_ = p.stderr.Close()
	}
}

// greeted keeps the first line for error reports.
func (p *Process) greeted(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handshake = string(line)
}

// Greeting returns the first line, or "" if the process printed none.
func (p *Process) Greeting() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handshake
}

// Wait implements runner.Runner.
func (p *Process) Wait(context.Context) error {
	<-p.Exited
	if !p.State.Success() {
		return errors.New(p.State.String())
	}
	return nil
}

// UsedUp reports whether the kernel killed the process because of CPUTime. The time
// that the kernel checks and the time that it reports at the end differ by a few ticks.
func (p *Process) UsedUp() bool {
	limit := p.limits.CPUTime.Truncate(time.Second)
	status, ok := p.State.Sys().(syscall.WaitStatus)
	return limit > 0 && ok && status.Signaled() && p.State.UserTime()+p.State.SystemTime() >= limit-max(limit/10, time.Second/2)
}

// Kill implements runner.Runner.
func (p *Process) Kill(context.Context) error {
	p.End()
	if p.ID() != "" {
		<-p.Exited
	}
	return nil
}

// Stdout implements runner.Runner. It returns only the handshake line; the rest goes to
// the output, so that no line is too long for go-plugin.
func (p *Process) Stdout() io.ReadCloser {
	return &firstLine{r: p.stdout, out: p.out, greet: p.greeted}
}

// Stderr implements runner.Runner. It returns nothing: everything goes to the output.
func (p *Process) Stderr() io.ReadCloser { return &firstLine{r: p.stderr, out: p.out, over: true} }

// Name implements runner.Runner.
func (p *Process) Name() string { return p.Cmd.Path }

// ID implements runner.Runner.
func (p *Process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return ""
	}
	return strconv.Itoa(p.pid)
}

// Diagnose implements runner.Runner. The host's own error says more.
func (p *Process) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.Runner.
func (p *Process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin implements runner.Runner.
func (p *Process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
