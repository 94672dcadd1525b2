package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/wire"
)

// Bounds of a process.
const (
	grace      = 2 * time.Second // for a server to exit after its input was closed
	pipeGrace  = 100 * time.Millisecond
	mostUnread = 256     // messages that wait for their reader
	mostNews   = 100_000 // notifications during one request
	keptErrors = 2 << 10 // bytes of the end of what the server wrote to stderr
)

// process is a server over its standard input and output: one message a line. It stays in
// the process group of this process: the host kills the whole group.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	max     int
	answers chan *mcp.Message
	over    chan struct{} // closed when the server's output has ended and why is set
	why     error
	stderr  *tail
	write   sync.Mutex
	once    sync.Once
}

// startProcess starts the server of s.
func startProcess(s *Server) (*process, error) {
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	p := &process{cmd: cmd, max: s.MaxMessage, answers: make(chan *mcp.Message, mostUnread), over: make(chan struct{}), stderr: &tail{}}
	cmd.Stderr = p.stderr
	cmd.WaitDelay = pipeGrace // a descendant may hold the pipe
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", filepath.Base(s.Command[0]), plainStart(err))
	}
	p.in = in
	go p.read(out)
	return p, nil
}

// plainStart removes the path from an error of a start.
func plainStart(err error) error {
	var e *exec.Error
	var at *os.PathError
	switch {
	case errors.As(err, &e):
		return e.Err
	case errors.As(err, &at):
		return at.Err
	}
	return err
}

// read receives messages until the output ends, and then reaps the process.
func (p *process) read(out io.Reader) {
	defer close(p.over)
	why := p.receive(out)
	_ = p.in.Close()
	if why != nil { // it still runs, and nobody reads what it says
		_ = p.cmd.Process.Kill()
	}
	timer := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	timer.Stop()
	if why == nil {
		why = fmt.Errorf("the server exited (%v)", p.cmd.ProcessState)
		if p.cmd.ProcessState == nil {
			why = fmt.Errorf("the server exited: %w", err)
		}
	}
	if said := p.stderr.last(); said != "" {
		why = fmt.Errorf("%w; it last wrote: %s", why, said)
	}
	p.why = why
}

// receive reads lines. It returns nil at the end of the output.
func (p *process) receive(out io.Reader) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, min(p.max, 64<<10)), p.max)
	for news := 0; lines.Scan(); {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		m, err := mcp.Decode(lines.Bytes())
		if err != nil {
			return fmt.Errorf("the server wrote a line that is not a message (%s): %s", err.(*mcp.Error).Message, wire.Clean(lines.Text(), 120))
		}
		switch {
		case m.IsResponse():
			news = 0
			select {
			case p.answers <- m:
				continue
			default:
				return errors.New("the server answers requests that nobody made")
			}
		case m.IsRequest():
			if err := p.send(answerTo(m)); err != nil {
				return nil // the server has gone
			}
		}
		if news++; news > mostNews {
			return fmt.Errorf("the server sent more than %d messages without an answer", mostNews)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a message of the server is longer than limits.message, %d bytes", p.max)
	}
	return nil
}

// answerTo answers a request of a server: to a ping, and that Merit offers nothing else.
func answerTo(m *mcp.Message) *mcp.Message {
	if m.Method == mcp.Ping {
		return &mcp.Message{ID: m.ID, Result: json.RawMessage("{}")}
	}
	return &mcp.Message{ID: m.ID, Error: mcp.Errorf(mcp.NoMethod, "Method not found")}
}

func (p *process) send(m *mcp.Message) error {
	p.write.Lock()
	defer p.write.Unlock()
	_, err := p.in.Write(append(m.Encode(), '\n'))
	return err
}

// ask implements transport.
func (p *process) ask(ctx context.Context, m *mcp.Message, _ string) (*mcp.Message, error) {
	sent := make(chan error, 1)
	go func() { sent <- p.send(m) }() // a server that does not read blocks it, until close
	select {
	case err := <-sent:
		if err != nil {
			sent = nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.over:
	}
	for {
		select {
		case a := <-p.answers:
			if string(a.ID) == string(m.ID) {
				return a, nil
			}
			if a.ID == nil && a.Error != nil { // it could not read the request
				return a, nil
			}
		case <-ctx.Done():
			p.cancel(m)
			return nil, ctx.Err()
		case <-p.over:
			select {
			case a := <-p.answers: // an answer that arrived before the end
				if string(a.ID) == string(m.ID) {
					return a, nil
				}
			default:
				return nil, p.why
			}
		}
	}
}

// cancel tells the server that nobody waits for the answer any more.
func (p *process) cancel(m *mcp.Message) {
	if m.Method != mcp.Initialize {
		go func() {
			_ = p.send(&mcp.Message{Method: mcp.Cancelled, Params: mcp.Marshal(map[string]any{"requestId": m.ID, "reason": "timeout"})})
		}()
	}
}

// tell implements transport.
func (p *process) tell(_ context.Context, m *mcp.Message) error {
	if err := p.send(m); err != nil {
		<-p.over
		return p.why
	}
	return nil
}

func (p *process) speak(string) {}

func (p *process) know([]mcp.Tool) {}

// close closes the input of the server, waits for its exit, and kills it if it stays.
func (p *process) close() {
	p.once.Do(func() {
		kill := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
		defer kill.Stop()
		_ = p.in.Close()
		<-p.over
	})
}

// tail forwards what a server writes to stderr, and keeps the end of it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - keptErrors; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.mu.Unlock()
	return os.Stderr.Write(b)
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "\uFFFD"))
	return wire.Clean(text[strings.LastIndexByte(text, '\n')+1:], 300)
}
