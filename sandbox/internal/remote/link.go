package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/jail"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
	"github.com/merit-rl/merit/sandbox/internal/wire"
)

const (
	startPatience       = 30 * time.Second       // for a worker process to say that it is ready
	interpreterPatience = time.Minute            // to compile one that is not in the cache
	loadPatience        = 2 * time.Minute        // for gate and compiler of a module, beside its start
	cancelPatience      = 500 * time.Millisecond // for an evaluation to end when it is told to
	latePatience        = 2 * time.Second        // beyond the wall clock, which the worker keeps itself
	deathPatience       = time.Second            // for a process that closed its pipe to be gone
)

// link is a worker process and the pipe to it. One question is in flight at a
// time. After an error the link must be cut.
type link struct {
	process *jail.Process
	in      *bufio.Reader
	out     []byte // the frame being written
	buf     []byte // the payload being read
	loaded  map[int]profile.Encoder
	scripts []string      // what it has interpreters for
	offered []string      // the languages of programs that rewards may open in it
	swept   int           // the fleet's count of modules removed, when unloading was last seen to
	busy    time.Duration // since the process started
	log     func(note []byte)

	mu  sync.Mutex // held where a cancellation may meet the end of an evaluation
	seq uint32
}

// dial starts a worker process.
func dial(ctx context.Context, argument string, told hello, log func(note []byte)) (*link, jail.Measures, error) {
	process, err := jail.Start(argument)
	if err != nil {
		return nil, jail.Measures{}, err
	}
	l := &link{process: process, in: bufio.NewReaderSize(process.Out, 64<<10), loaded: map[int]profile.Encoder{}, scripts: told.Languages, offered: told.Programs, log: log}
	payload, err := json.Marshal(told)
	if err != nil {
		l.cut()
		return nil, jail.Measures{}, err
	}
	var measures jail.Measures
	interpreters := time.Duration(len(told.Languages) + len(told.Programs))
	frame, v := l.ask(ctx, startPatience+interpreters*interpreterPatience, 1<<16, wire.Hello, func(b []byte) []byte { return append(b, payload...) })
	if v == nil && (frame.Kind != wire.Ready || json.Unmarshal(frame.Payload, &measures) != nil) {
		v = result.Infrastructure(wire.ErrFrame)
	}
	if v != nil {
		l.cut()
		return nil, measures, v
	}
	return l, measures, nil
}

// ask sends a question and waits for its answer, whose payload is valid until
// the next question. When ctx ends, the worker is told, and given a moment.
func (l *link) ask(ctx context.Context, patience time.Duration, limit int, kind wire.Kind, payload func([]byte) []byte) (wire.Frame, *result.Verdict) {
	start := time.Now()
	defer func() { l.busy += time.Since(start) }()
	l.mu.Lock()
	l.seq++
	seq := l.seq
	l.out = wire.End(payload(wire.Begin(l.out, kind, seq)))
	_ = l.process.In.SetWriteDeadline(start.Add(patience)) // pipes have deadlines
	_ = l.process.Out.SetReadDeadline(start.Add(patience))
	_, err := l.process.In.Write(l.out)
	l.mu.Unlock()
	if err != nil {
		return wire.Frame{}, l.broken(ctx, kind, err)
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { l.cancel(seq) })()
	}
	frame, buf, err := wire.Read(l.in, l.buf, limit)
	for err == nil && frame.Kind == wire.Note {
		l.log(frame.Payload)
		frame, buf, err = wire.Read(l.in, buf, limit)
	}
	l.buf = buf
	if err == nil && frame.Seq != seq {
		err = wire.ErrFrame
	}
	if err != nil {
		return wire.Frame{}, l.broken(ctx, kind, err)
	}
	return frame, nil
}

// cancel tells the worker to end the evaluation seq, if it is still running.
func (l *link) cancel(seq uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seq != seq {
		return
	}
	soon := time.Now().Add(cancelPatience)
	_ = l.process.In.SetWriteDeadline(soon)
	_ = l.process.Out.SetReadDeadline(soon)
	_, _ = l.process.In.Write(wire.End(wire.Begin(nil, wire.Cancel, seq))) // a dead worker ends as well
}

// tell sends what has no answer.
func (l *link) tell(kind wire.Kind, payload func([]byte) []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	l.out = wire.End(payload(wire.Begin(l.out, kind, l.seq)))
	_ = l.process.In.SetWriteDeadline(time.Now().Add(latePatience))
	_, err := l.process.In.Write(l.out)
	return err
}

// broken says why a question has no answer.
func (l *link) broken(ctx context.Context, kind wire.Kind, err error) *result.Verdict {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
		return &result.Verdict{Outcome: reward.Infrastructure, Reason: "cancelled"}
	case errors.Is(err, os.ErrDeadlineExceeded) && kind != wire.Evaluate:
		return &result.Verdict{Outcome: reward.Infrastructure, Reason: "the worker process took too long"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &result.Verdict{Outcome: reward.Timeout, Reason: "the evaluation ran longer than sandbox.wall_clock; its worker process was killed"}
	case errors.Is(err, wire.ErrFrame):
		return &result.Verdict{Outcome: reward.Infrastructure, Reason: "the worker process answered with something else than an answer: " + text.Escape(err.Error())}
	}
	death := l.process.Death(deathPatience)
	switch {
	case death.OutOfMemory:
		return &result.Verdict{Outcome: reward.OutOfMemory, Reason: "the worker process ran out of memory (sandbox.worker_mib)"}
	case death.Forbidden:
		return &result.Verdict{Outcome: reward.Infrastructure, Reason: "the worker process asked the system for something forbidden and was ended"}
	}
	return &result.Verdict{Outcome: reward.Infrastructure, Reason: "the worker process died: " + text.Escape(death.Text)}
}

// alive reports whether the process is there.
func (l *link) alive() bool {
	select {
	case <-l.process.Done():
		return false
	default:
		return true
	}
}

// cut ends the process at once.
func (l *link) cut() { l.process.Kill() }

// hangUp lets the process end: its input does.
func (l *link) hangUp() {
	_ = l.process.In.Close()
	l.process.Death(deathPatience)
}
