package answer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/merit-rl/merit/internal/mcp"
)

// mostAtOnce is the largest number of requests that are answered at the same time.
const mostAtOnce = 4

// Serve answers the messages in the lines of in, each of at most most bytes, until it ends or
// ctx is canceled, and then waits for its own answers. It returns an error if a line is too
// long, or the client does not read.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer, most int) error {
	l := &lines{server: s, out: out, running: map[string]context.CancelFunc{}, places: make(chan struct{}, mostAtOnce)}
	defer l.wait.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read := bufio.NewScanner(in)
	read.Buffer(make([]byte, 0, min(most, 64<<10)), most)
	for read.Scan() {
		if len(read.Bytes()) == 0 {
			continue
		}
		m, err := mcp.Decode(read.Bytes())
		if err != nil {
			l.send(&mcp.Message{Error: err.(*mcp.Error)})
			continue
		}
		l.take(ctx, m)
		if err := l.problem(); err != nil {
			return err
		}
	}
	if errors.Is(read.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a message has more than %d bytes", most)
	}
	l.wait.Wait() // a client that closed its end still reads the answers
	return errors.Join(read.Err(), l.problem())
}

// lines is one connection.
type lines struct {
	server *Server
	out    io.Writer
	wait   sync.WaitGroup
	places chan struct{}

	mu      sync.Mutex
	running map[string]context.CancelFunc // by id
	failed  error                         // of a write
}

// take answers m, if it is a request, without waiting for the answer.
func (l *lines) take(ctx context.Context, m *mcp.Message) {
	if m.Method == mcp.Cancelled {
		l.cancel(m)
	}
	if !m.IsRequest() {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	l.running[string(m.ID)] = cancel
	l.mu.Unlock()
	l.places <- struct{}{}
	l.wait.Go(func() {
		defer func() { <-l.places }()
		answer := l.server.Answer(ctx, m)
		l.mu.Lock()
		delete(l.running, string(m.ID))
		l.mu.Unlock()
		if ctx.Err() == nil { // nobody waits for the answer of a request that was canceled
			l.send(answer)
		}
		cancel()
	})
}

// cancel ends the request that a notification names.
func (l *lines) cancel(m *mcp.Message) {
	id := cancelled(m.Params)
	l.mu.Lock()
	defer l.mu.Unlock()
	if end, ok := l.running[id]; ok {
		end()
	}
}

func (l *lines) send(m *mcp.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.out.Write(append(m.Encode(), '\n')); err != nil && l.failed == nil {
		l.failed = err
	}
}

func (l *lines) problem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}
