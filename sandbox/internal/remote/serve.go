package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/channel"
	"github.com/merit-rl/merit/sandbox/internal/jail"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/internal/wire"
)

// hello is the configuration that a worker process receives when it starts.
type hello struct {
	Options
	// Languages are the extensions of the scripts that may be loaded. Their
	// interpreters, which are identified by their digests, are loaded from disk
	// before the process enters the jail.
	Languages []string
	// Programs lists the languages of programs that rewards may open.
	Programs []string
	// Digests lists the builds of the interpreters that scripts run on.
	Digests []string
}

// Known returns the languages of a worker process, from the folder of the interpreters and
// the digests of their builds.
type Known func(folder string, digests []string) source.Languages

// frameRoom is how much longer a question may be than its module or input,
// because of JSON.
const frameRoom = 128 << 20

// server is the worker's side of a link.
type server struct {
	known     Known
	languages source.Languages
	backend   *local.Backend
	modules   map[int]*local.Module
	request   wire.Request
	in        *bufio.Reader
	out       io.Writer
	writing   sync.Mutex // a note may be sent while an answer is being made
	buf       []byte
	replies   chan []byte // to the question of the running evaluation

	mu      sync.Mutex
	running uint32 // the sequence number of the evaluation that cancel cancels
	cancel  context.CancelFunc
}

// Serve runs a worker process: it enters the jail and answers questions until
// in ends. No other part of the program may run at the same time.
func Serve(in io.Reader, out io.Writer, known Known) error {
	s := &server{known: known, modules: map[int]*local.Module{}, replies: make(chan []byte, 1), in: bufio.NewReaderSize(in, 64<<10), out: out}
	frame, _, err := wire.Read(s.in, nil, 1<<20)
	if err != nil {
		return err
	}
	var told hello
	if err := json.Unmarshal(frame.Payload, &told); err != nil {
		return err
	}
	told.Logger = slog.New(notes{s})
	measures, err := s.enter(told)
	if err != nil {
		return err
	}
	if err := s.answerJSON(wire.Ready, frame.Seq, measures); err != nil {
		return err
	}
	questions := make(chan question)
	go s.listen(questions, (max(told.ModuleMiB, told.ScriptMiB)+told.InputMiB)<<20+frameRoom)
	for q := range questions {
		if err := s.answer(q); err != nil {
			return err
		}
	}
	return nil
}

// enter loads what it needs from disk and enters the jail.
func (s *server) enter(told hello) (m jail.Measures, err error) {
	memory := int64(told.WorkerMiB) << 20
	debug.SetMemoryLimit(memory / 2) // the rest is for mapped memories
	s.languages = s.known(told.InterpreterDir, told.Digests)
	if s.backend, err = local.New(told.Options.Options, s.languages); err != nil {
		return m, err
	}
	for _, l := range s.languages {
		offered := slices.Contains(told.Programs, source.Name(l))
		if offered || slices.Contains(told.Languages, l.Extension()) {
			err = errors.Join(s.backend.Preload(context.Background(), l.Interpreter()), l.Preload())
		}
		if offered && err == nil {
			err = s.backend.Offer(context.Background(), source.Name(l))
		}
		if err != nil {
			return m, err
		}
	}
	s.backend.Detach(memory / 2)
	return jail.Enter(jail.Limits{MemoryBytes: uint64(memory), FileBytes: uint64(told.MemoryMiB) << 20, CPU: workerCPU})
}

// question is a frame with the context of its answer.
type question struct {
	wire.Frame
	ctx context.Context
}

// listen reads questions, and cancellations while a question is being answered.
// It alternates between two buffers, so that a question stays valid while the
// next one is read.
func (s *server) listen(questions chan<- question, limit int) {
	defer close(questions)
	defer close(s.replies)
	var bufs [2][]byte
	for turn := 0; ; {
		frame, buf, err := wire.Read(s.in, bufs[turn], limit)
		bufs[turn] = buf
		if err != nil {
			return // the host has exited or hung up
		}
		if frame.Kind == wire.Reply {
			s.reply(frame)
			continue
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

// reply passes on the reply to the question of the running evaluation.
func (s *server) reply(frame wire.Frame) {
	s.mu.Lock()
	current := s.running == frame.Seq
	s.mu.Unlock()
	if !current {
		return
	}
	select {
	case s.replies <- slices.Clone(frame.Payload):
	default: // nothing waits for it
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
	src, err := s.source(m)
	if err != nil {
		return err
	}
	module, err := s.backend.Load(q.ctx, src)
	if err != nil {
		f := fault.As(err)
		if f == nil {
			f = &fault.Error{Kind: fault.Internal, What: err.Error()}
		}
		no := refused{Kind: f.Kind, Where: f.Where, What: f.What, Hint: f.Hint}
		if f.Err != nil {
			no.Cause = f.Err.Error()
		}
		return s.answerJSON(wire.Refused, q.Seq, no)
	}
	s.modules[m.Number] = module
	info := module.Info()
	return s.answerJSON(wire.Loaded, q.Seq, loaded{
		ABI: info.ABI, Group: info.Group, Manifest: module.Manifest(), GroundTruth: info.GroundTruth, Entry: info.Entry, Fresh: module.Fresh(),
		Refused: info.Refused,
	})
}

// source returns a copy of a module from the pipe, whose buffer is reused.
func (s *server) source(m wire.Module) (source.Source, error) {
	if m.Language == "" {
		src := source.Module(m.Name, slices.Clone(m.Wasm))
		src.Asks = m.Asks
		return src, nil
	}
	l := s.languages.With(m.Language)
	if l == nil {
		return source.Source{}, wire.ErrMessage
	}
	script := &source.Script{Language: l, Name: m.Name, Entry: m.Entry, Files: map[string][]byte{}}
	script.Function, script.With, script.Batch = m.Function, slices.Clone(m.With), m.Batch
	for _, f := range m.Files {
		script.Files[f.Name] = slices.Clone(f.Data)
	}
	return source.Source{Name: m.Name, Digest: script.Digest(s.languages), Script: script, Asks: m.Asks}, nil
}

// evaluate sends its answer before it restores the instance, so that the host
// can continue meanwhile.
func (s *server) evaluate(q question) error {
	if err := s.request.Parse(q.Payload); err != nil {
		return err
	}
	m := s.modules[s.request.Module]
	if m == nil || len(s.request.Members) == 0 || len(s.request.Input) == 0 {
		return wire.ErrMessage
	}
	members, input := s.request.Members, s.request.Input
	if !m.Detached() {
		whole, err := wire.ParseMembers(input)
		if err != nil || len(whole) != len(members) {
			return wire.ErrMessage
		}
		members, input = whole, nil
	}
	var err error
	ctx := channel.With(q.ctx, channel.NewModel(asker{server: s, seq: q.Seq}))
	wanted := m.Answer(ctx, members, input, func(results []reward.Evaluation, fuel uint64) {
		err = s.send(&wire.Answer{Fuel: fuel, Log: results[0].Log, Evaluations: results}, q.Seq)
	})
	if wanted != "" {
		return s.answerJSON(wire.Wanted, q.Seq, wanted)
	}
	return err
}

func (s *server) send(a *wire.Answer, seq uint32) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.buf = wire.End(a.Append(wire.Begin(s.buf, wire.Result, seq)))
	_, err := s.out.Write(s.buf)
	return err
}

func (s *server) answerJSON(kind wire.Kind, seq uint32, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.buf = wire.End(append(wire.Begin(s.buf, kind, seq), payload...))
	_, err = s.out.Write(s.buf)
	return err
}
