package host

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

// How long the pipes of a dead plug-in may stay open in the hands of
// grandchildren that left its process group.
const pipeGrace = 100 * time.Millisecond

// process is a plug-in's process group, as go-plugin wants it. go-plugin's own
// runner shares stdin, leaves orphans, and waits for grandchildren for ever.
type process struct {
	cmd    *exec.Cmd
	limits Limits
	out    *output
	stdout *os.File
	stderr *os.File

	exited chan struct{} // closed when the process has been waited for
	state  *os.ProcessState

	mu        sync.Mutex
	pid       int
	ended     bool   // end was called
	handshake string // the first line of stdout
}

var _ runner.Runner = (*process)(nil)

func newProcess(cmd *exec.Cmd, limits Limits, out *output) *process {
	return &process{cmd: cmd, limits: limits, out: out, exited: make(chan struct{})}
}

// Start implements runner.Runner.
func (p *process) Start(context.Context) error {
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
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = nil, childOut, childErr
	p.cmd.SysProcAttr = attributes()
	// A fresh goroutine has an ordinary thread below it: the kernel ties the
	// death signal to the thread that starts the child.
	started := make(chan error)
	go func() { started <- p.cmd.Start() }()
	if err := <-started; err != nil {
		return errors.Join(err, stdout.Close(), stderr.Close())
	}
	p.mu.Lock()
	p.pid = p.cmd.Process.Pid
	ended := p.ended
	p.mu.Unlock()
	go p.wait()
	err = p.limits.apply(p.pid)
	if err != nil || ended {
		p.end()
	}
	return err
}

// wait reaps the process and then sees to it that its pipes end.
func (p *process) wait() {
	_ = p.cmd.Wait() // the state says it all
	p.state = p.cmd.ProcessState
	p.signal()
	deadline := time.Now().Add(pipeGrace)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
	close(p.exited)
}

// signal kills the whole group.
func (p *process) signal() { _ = syscall.Kill(-p.pid, syscall.SIGKILL) }

// end kills the group, also one that is about to start. After the process has
// gone it does nothing: the number may belong to others.
func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.pid == 0 {
		return
	}
	select {
	case <-p.exited:
	default:
		p.signal()
	}
}

// close frees the pipes of an ended process.
func (p *process) close() {
	if p.stdout != nil {
		_ = p.stdout.Close()
		_ = p.stderr.Close()
	}
}

// greeted keeps the first line for error reports.
func (p *process) greeted(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handshake = string(line)
}

// greeting returns the first line, empty if there was none.
func (p *process) greeting() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handshake
}

// Wait implements runner.Runner.
func (p *process) Wait(context.Context) error {
	<-p.exited
	if !p.state.Success() {
		return errors.New(p.state.String())
	}
	return nil
}

// Kill implements runner.Runner.
func (p *process) Kill(context.Context) error {
	p.end()
	if p.ID() != "" {
		<-p.exited
	}
	return nil
}

// Stdout implements runner.Runner: the handshake line only. What follows goes
// to the output, so that no line is too long for go-plugin.
func (p *process) Stdout() io.ReadCloser {
	return &firstLine{r: p.stdout, out: p.out, greet: p.greeted}
}

// Stderr implements runner.Runner: nothing, all goes to the output.
func (p *process) Stderr() io.ReadCloser { return &firstLine{r: p.stderr, out: p.out, over: true} }

// Name implements runner.Runner.
func (p *process) Name() string { return p.cmd.Path }

// ID implements runner.Runner.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return ""
	}
	return strconv.Itoa(p.pid)
}

// Diagnose implements runner.Runner. The host's own error says more.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.Runner.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin implements runner.Runner.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
