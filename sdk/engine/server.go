package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	held, err := acquire(filepath.Join(o.Data, "lock"))
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
	if err := e.unpack(o.Folder); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return unwritable(o.Data, err)
	}
	return nil
}

// launch starts the process on a port that is free now.
func (s *Server) launch(e Engine, m Model, o Options) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		return &fault.Error{
			Boundary: fault.Model, Kind: fault.Refused, Where: "port " + strconv.Itoa(o.Port), What: "cannot be listened on", Err: err,
			Hint: "stop the server that has it, or choose another port",
		}
	}
	o.Port = listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	s.Port = o.Port
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", o.Port)
	_ = os.Rename(s.Log, s.Log+".old") // there may be none
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return unwritable(s.Log, err)
	}
	defer log.Close()
	line := e.commandLine(m, o)
	s.cmd = exec.Command(line[0], line[1:]...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = o.Data, log, log
	s.cmd.Env = append(os.Environ(), e.variables(o)...)
	s.cmd.SysProcAttr = attributes()
	// A fresh goroutine has an ordinary thread below it: the kernel ties the
	// death signal to the thread that starts the child.
	started := make(chan error)
	go func() { started <- s.cmd.Start() }()
	if err := <-started; err != nil {
		return &fault.Error{Boundary: fault.Model, Kind: fault.Crashed, Where: line[0], What: "cannot be started", Err: err, Hint: "install the engine again"}
	}
	go s.wait()
	return nil
}

// wait reaps the process and whatever it has left behind.
func (s *Server) wait() {
	s.err = s.cmd.Wait()
	s.signal(syscall.SIGKILL)
	s.lock.Close()
	close(s.exited)
}

// signal sends a signal to the whole group.
func (s *Server) signal(which syscall.Signal) { _ = syscall.Kill(-s.cmd.Process.Pid, which) }

// Exited is closed when the engine has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Err says how an engine ended by itself: with the last lines of its log.
func (s *Server) Err() error {
	<-s.exited
	text, _ := os.ReadFile(s.Log) // what cannot be read is not shown
	return &fault.Error{
		Boundary: fault.Model, Kind: fault.Crashed, Where: s.Log,
		What: fmt.Sprintf("the server has ended (%v); its last words:\n%s", s.err, lastOf(string(text))), Hint: "all that it said is in this file",
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
