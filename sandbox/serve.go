package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/wall"
	"github.com/merit-rl/merit/sandbox/internal/wire"
)

// WorkerArgument is the one argument with which a program starts itself as a
// worker process of isolation: process.
const WorkerArgument = "merit-sandbox-worker"

// IsWorker reports whether a program was started as a worker process. It must
// then call WorkerMain and do nothing else:
//
//	if sandbox.IsWorker(os.Args) {
//		os.Exit(sandbox.WorkerMain())
//	}
func IsWorker(args []string) bool { return len(args) == 2 && args[1] == WorkerArgument }

// WorkerMain serves evaluations from standard input until it ends, and returns
// the exit code. Nothing of the program may be running beside it.
func WorkerMain() int {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// workerHello is what a worker process is told at its start.
type workerHello struct {
	Config
	// Languages are the extensions of the scripts that may come. Their
	// interpreters, which are known by their digests, are taken from the disk
	// before the wall goes up.
	Languages []string `json:"languages"`
}

// frameRoom is what a question may be longer than its module or input: JSON.
const frameRoom = 128 << 20

// server is the worker's side of a link.
type server struct {
	runtime *Runtime
	modules map[int]*Module
	request wire.Request
	in      *bufio.Reader
	out     io.Writer
	buf     []byte

	mu      sync.Mutex
	running uint32 // the sequence number of the evaluation that cancel ends
	cancel  context.CancelFunc
}

func serve(in io.Reader, out io.Writer) error {
	s := &server{modules: map[int]*Module{}, in: bufio.NewReaderSize(in, 64<<10), out: out}
	hello, _, err := wire.Read(s.in, nil, 1<<20)
	if err != nil {
		return err
	}
	var told workerHello
	if err := json.Unmarshal(hello.Payload, &told); err != nil {
		return err
	}
	cfg := told.Config
	memory := int64(cfg.WorkerMiB) << 20
	debug.SetMemoryLimit(memory / 2) // memories that are mapped have the rest
	if s.runtime, err = New(context.Background(), cfg); err != nil {
		return err
	}
	for _, l := range languages() {
		if slices.Contains(told.Languages, l.extension) {
			if err := s.runtime.preload(context.Background(), l.interpreter); err != nil {
				return err
			}
		}
	}
	s.runtime.engine.Detach(memory / 2)
	measures, err := wall.Enter(wall.Limits{MemoryBytes: uint64(memory), FileBytes: uint64(cfg.MemoryMiB) << 20, CPU: workerCPU})
	if err != nil {
		return err
	}
	if err := s.answerJSON(wire.Ready, hello.Seq, measures); err != nil {
		return err
	}
	questions := make(chan question)
	go s.listen(questions, (cfg.ModuleMiB+cfg.InputMiB)<<20+frameRoom)
	for q := range questions {
		if err := s.answer(q); err != nil {
			return err
		}
	}
	return nil
}

// question is a frame with the context of its answer.
type question struct {
	wire.Frame
	ctx context.Context
}

// listen reads questions, and cancellations while one is being answered. Two
// buffers take turns, so that a question stays while the next is read.
func (s *server) listen(questions chan<- question, limit int) {
	defer close(questions)
	var bufs [2][]byte
	for turn := 0; ; {
		frame, buf, err := wire.Read(s.in, bufs[turn], limit)
		bufs[turn] = buf
		if err != nil {
			return // the host is gone or has hung up
		}
		if frame.Kind == wire.Cancel {
			s.mu.Lock()
			if s.running == frame.Seq && s.cancel != nil {
				s.cancel()
			}
			s.mu.Unlock()
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		s.mu.Lock()
		s.running, s.cancel = frame.Seq, cancel
		s.mu.Unlock()
		questions <- question{frame, ctx}
		turn = 1 - turn
	}
}

func (s *server) answer(q question) error {
	switch q.Kind {
	case wire.Load:
		return s.load(q)
	case wire.Evaluate:
		return s.evaluate(q)
	case wire.Unload:
		number, err := wire.ParseNumber(q.Payload)
		if m := s.modules[number]; m != nil {
			m.Close(q.ctx)
			delete(s.modules, number)
		}
		return err
	}
	return wire.ErrMessage
}

func (s *server) load(q question) error {
	m, err := wire.ParseModule(q.Payload)
	if err != nil {
		return err
	}
	loaded, err := s.loadModule(q.ctx, m)
	if err != nil {
		f := fault.As(err)
		if f == nil {
			f = &fault.Error{Kind: fault.Internal, What: err.Error()}
		}
		refused := refusedModule{Kind: f.Kind, Where: f.Where, What: f.What, Hint: f.Hint}
		if f.Err != nil {
			refused.Cause = f.Err.Error()
		}
		return s.answerJSON(wire.Refused, q.Seq, refused)
	}
	s.modules[m.Number] = loaded
	return s.answerJSON(wire.Loaded, q.Seq, loadedModule{ABI: loaded.info.ABI, Group: loaded.info.Group, Manifest: loaded.manifest})
}

func (s *server) loadModule(ctx context.Context, m wire.Module) (*Module, error) {
	if m.Language == "" {
		return s.runtime.Load(ctx, m.Name, slices.Clone(m.Wasm))
	}
	for _, l := range languages() {
		if l.extension == m.Language {
			files := map[string][]byte{}
			for _, f := range m.Files {
				files[f.Name] = slices.Clone(f.Data)
			}
			src := l.source(&script{language: l, name: m.Name, entry: m.Entry, files: files})
			src.module = interpreterModule(l.interpreter, s.runtime.config.InterpreterDir)
			return s.runtime.load(ctx, src)
		}
	}
	return nil, wire.ErrMessage
}

// evaluate answers before it restores the instance: the host goes on
// meanwhile.
func (s *server) evaluate(q question) error {
	if err := s.request.Parse(q.Payload); err != nil {
		return err
	}
	m := s.modules[s.request.Module]
	if m == nil || len(s.request.Members) == 0 || len(s.request.Input) == 0 {
		return wire.ErrMessage
	}
	members, input := s.request.Members, s.request.Input
	if _, ok := m.profile.(detached); !ok {
		var whole []*rl.Trajectory
		if err := json.Unmarshal(input, &whole); err != nil || len(whole) != len(members) {
			return wire.ErrMessage
		}
		members, input = whole, nil
	}
	var answer wire.Answer
	w, err := m.pool.get(q.ctx)
	if err != nil {
		for range s.request.Members {
			answer.Evaluations = append(answer.Evaluations, reward.Evaluation{Outcome: reward.Infrastructure, Reason: err.Error()})
		}
		return s.send(&answer, q.Seq)
	}
	fuel, v, spoilt := w.run(q.ctx, members, input)
	answer.Fuel = fuel
	for i := range s.request.Members {
		answer.Evaluations = append(answer.Evaluations, w.result(i, v))
	}
	answer.Log = answer.Evaluations[0].Log
	err = s.send(&answer, q.Seq)
	m.pool.put(w, spoilt)
	return err
}

func (s *server) send(a *wire.Answer, seq uint32) error {
	s.buf = wire.End(a.Append(wire.Begin(s.buf, wire.Result, seq)))
	_, err := s.out.Write(s.buf)
	return err
}

func (s *server) answerJSON(kind wire.Kind, seq uint32, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.buf = wire.End(append(wire.Begin(s.buf, kind, seq), payload...))
	_, err = s.out.Write(s.buf)
	return err
}
