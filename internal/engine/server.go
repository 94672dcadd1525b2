package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// Server is an engine that runs.
type Server struct {
	URL   string // of its root
	Port  int
	Model Model
	Log   string // the file that all it prints goes to

	cmd    *exec.Cmd
	lock   *os.File
	exited chan struct{} // closed when it has ended
	err    error         // how it ended, after that
	once   sync.Once     // ends it
}

// Start starts an engine and returns when it answers. It runs until Stop or Kill,
// or until this process ends.
func (e Engine) Start(ctx context.Context, m Model, o Options) (*Server, error) {
	if err := e.ready(o); err != nil {
		return nil, err
	}
	held, err := acquire(o.Data)
	if err != nil {
		return nil, err
	}
	s := &Server{Model: m, Log: filepath.Join(o.Data, "server.log"), lock: held, exited: make(chan struct{})}
	if err := s.launch(e, m, o); err != nil {
		held.Close()
		return nil, err
	}
	if err := s.await(ctx, e.Tinker); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// ready checks what Start needs before anything is started.
func (e Engine) ready(o Options) error {
	if err := errors.Join(o.Validate()...); err != nil {
		return err
	}
	if err := e.Installed(o.Folder); err != nil {
		return err
	}
	return e.unpack(o.Folder)
}

// Exited is closed when the engine has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Err says how an engine ended by itself: with the last lines of its log.
func (s *Server) Err() error {
	<-s.exited
	text, _ := os.ReadFile(s.Log) // what cannot be read is not shown
	return &fault.Error{
		Boundary: fault.Model, Kind: fault.Crashed, Where: s.Log,
		What: fmt.Sprintf("the server has exited (%v); the end of its log:\n%s", s.err, lastOf(string(text))), Hint: "see this file for its whole log",
	}
}

// grace is how long a server may take to end when it is asked to.
var grace = 5 * time.Second

// Stop ends the engine, at first by asking.
func (s *Server) Stop() {
	s.once.Do(func() {
		s.signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(grace):
		}
	})
	s.Kill()
}

// Kill ends the engine and all that it has started at once, as a crash does, and
// returns when it is gone.
func (s *Server) Kill() {
	select {
	case <-s.exited:
		return // the number may belong to others
	default:
		s.signal(syscall.SIGKILL)
		<-s.exited
	}
}
