package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/channel"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

const (
	maxBeside  = 4       // programs open at once
	openFuel   = 500_000 // fuel for bringing an instance to its snapshot
	markFuel   = 200_000 // fuel for keeping its state
	rewindFuel = 60_000  // fuel for returning it to its mark

	longAnswers = 64 << 10 // bytes of answers after which each ends
)

// beside holds the programs that an evaluation has opened. It is the host's end
// of the reward's channel, where the reward is not trusted either.
type beside struct {
	worker *worker // the worker of the reward
	ctx    context.Context
	opened uint32 // handles given out in this evaluation
	open   []program
	wanted string // the language for which the evaluation was stopped
}

// program is an open program. If its worker stopped during an exchange, the
// worker is spoilt until it returns to the mark.
type program struct {
	handle uint32
	worker *worker
	spoilt bool
	mark   *fork.Point // nil if it has none
}

func (b *beside) begin(ctx context.Context) { b.ctx, b.opened, b.wanted = ctx, 0, "" }

// end closes the programs that are still open.
func (b *beside) end() {
	for _, p := range b.open {
		p.worker.module.pool.put(p.worker, p.spoilt)
	}
	clear(b.open)
	b.ctx, b.open = nil, b.open[:0]
}

// Limit implements engine.Channel.
func (b *beside) Limit() int { return channel.MaxLine + b.worker.module.backend.options.InputMiB<<20 }

// Exchange implements engine.Channel.
func (b *beside) Exchange(message []byte) []byte {
	answer, err := b.answer(message)
	if err != nil {
		return channel.Append(nil, channel.Refused, 0, []byte(err.Error()))
	}
	return answer
}

func (b *beside) answer(message []byte) ([]byte, error) {
	if len(message) > b.Limit() {
		return nil, errTooLong
	}
	m, err := channel.Parse(message)
	if err != nil {
		return nil, err
	}
	switch m.Do {
	case channel.Open:
		if err := b.start(m.Language); err != nil {
			return nil, err
		}
		return channel.Append(nil, channel.Opened, uint64(b.opened), nil), nil
	case channel.Question:
		said := b.worker.ask(m.Text)
		return channel.Append(nil, string(said.Kind), 0, []byte(said.Text)), nil
	case channel.Ask:
		return b.ask(m)
	case channel.Each:
		return b.each(m)
	}
	did, err := b.change(m)
	return channel.Append(nil, did, 0, nil), err
}

var errStarting = errors.New("a program cannot be opened while the reward starts or warms up: the snapshot that every evaluation begins with could not hold it")

var errAlone = errors.New("programs cannot be opened here: what is run here runs alone")

var errTooLong = errors.New("the message is longer than sandbox.input_mib allows")

// errWanted stops an evaluation, which Module.perform then starts again.
var errWanted = errors.New("a program is not loaded yet")

// start opens a program.
func (b *beside) start(language string) error {
	backend := b.worker.module.backend
	n := backend.nested[language]
	switch {
	case backend.options.Alone:
		return errAlone
	case !b.worker.started:
		return errStarting
	case n == nil:
		return fmt.Errorf("cannot open a program in %q: the language of a program is %s", language, strings.Join(languagesOf(backend.nested), " or "))
	case len(b.open) == maxBeside:
		return fmt.Errorf("%d programs are open, and no more can be at one time: close one", maxBeside)
	}
	m := n.module.Load()
	if m == nil {
		b.wanted = language
		b.worker.instance.Abort(errWanted)
	}
	b.worker.instance.Charge(openFuel)
	w, err := m.pool.get(b.ctx)
	if err != nil {
		b.worker.instance.Abort(result.Infrastructure(err))
	}
	b.opened++
	b.open = append(b.open, program{handle: b.opened, worker: w})
	return nil
}

// find returns the index of an open program.
func (b *beside) find(handle uint32) (int, error) {
	at := slices.IndexFunc(b.open, func(p program) bool { return p.handle == handle })
	if at < 0 {
		return 0, fmt.Errorf("program %d is not open", handle)
	}
	return at, nil
}

// change marks, rewinds or closes a program, and returns the word for what it did.
func (b *beside) change(m channel.Message) (did string, err error) {
	at, err := b.find(m.Handle)
	switch {
	case err != nil:
		return "", err
	case m.Do == channel.Mark:
		return channel.Marked, b.keep(&b.open[at])
	case m.Do == channel.Rewind:
		return channel.Rewound, b.rewind(&b.open[at])
	}
	b.remove(at)
	return channel.Closed, nil
}

// keep marks the state of a program, in place of its mark before.
func (b *beside) keep(p *program) (err error) {
	if p.spoilt {
		return p.stopped()
	}
	b.worker.instance.Charge(markFuel)
	if p.mark, err = p.worker.instance.Fork(); err != nil {
		b.worker.instance.Abort(result.Infrastructure(err))
	}
	return nil
}

// rewind returns a program to its mark, whatever it did since, even if it was stopped.
func (b *beside) rewind(p *program) error {
	if p.mark == nil {
		return fmt.Errorf("program %d has no mark", p.handle)
	}
	b.worker.instance.Charge(rewindFuel)
	p.spoilt = true
	if err := p.worker.instance.Resume(p.mark); err != nil {
		b.worker.instance.Abort(result.Infrastructure(err))
	}
	p.spoilt = false
	return nil
}

func (p *program) stopped() error {
	return fmt.Errorf("program %d was stopped: rewind it or close it", p.handle)
}

func (b *beside) remove(at int) {
	p := b.open[at]
	b.open = slices.Delete(b.open, at, at+1)
	p.worker.module.pool.put(p.worker, p.spoilt)
}

// ask sends a request to a program. If the program stops, that is its answer;
// if the reward must stop meanwhile, ask does not return.
func (b *beside) ask(m channel.Message) ([]byte, error) {
	at, err := b.find(m.Handle)
	if err != nil {
		return nil, err
	}
	p := &b.open[at]
	if p.spoilt {
		return nil, p.stopped()
	}
	what, fuel, said := b.exchange(p, m.Fuel, m.Text)
	if what != channel.Answered && p.mark == nil {
		b.remove(at)
	}
	return channel.Append(nil, what, fuel, said), nil
}

// each asks a program one request after the other, each from its mark. It ends with the first
// that stops the program, that exhausts the fuel for all, or that makes the answers long.
func (b *beside) each(m channel.Message) ([]byte, error) {
	at, err := b.find(m.Handle)
	if err != nil {
		return nil, err
	}
	p, left, answers, count := &b.open[at], m.All, []byte(nil), uint64(0)
	for request := range bytes.SplitSeq(m.Text, []byte{'\n'}) {
		if err := b.rewind(p); err != nil {
			return nil, err
		}
		what, fuel, said := b.exchange(p, min(m.Fuel, left), request)
		answers, count, left = channel.Append(answers, what, fuel, said), count+1, left-min(left, fuel)
		if what != channel.Answered || left == 0 || len(answers) >= longAnswers {
			break
		}
	}
	return channel.Append(nil, channel.Answered, count, answers), nil
}

// exchange sends a request to a program that is not spoilt, and returns its answer or how it
// stopped.
func (b *beside) exchange(p *program, limit uint64, request []byte) (what string, fuel uint64, said []byte) {
	p.spoilt = true
	depth := p.worker.module.backend.Depth(p.worker.module.by)
	fuel, stop := b.worker.instance.Nest(p.worker.instance, engine.Budget{Fuel: limit, Depth: depth}, func() (stop *engine.Stop) {
		said, stop = p.worker.exchange.Answer(request)
		return stop
	})
	if stop == nil {
		p.spoilt = false
		return channel.Answered, fuel, said
	}
	what, why := ending(stop, p.worker.instance.MemoryDenied())
	return what, fuel, []byte(why)
}

// ending returns how a program stopped. denied means that it had been refused
// memory.
func ending(stop *engine.Stop, denied bool) (what, why string) {
	var v *result.Verdict
	said := stop.Kind == engine.Refused && errors.As(stop.Err, &v)
	switch {
	case stop.Kind == engine.OutOfFuel:
		return channel.OutOfFuel, "the program used up the fuel that it was given"
	case said && v.Outcome == reward.OutOfMemory, !said && denied:
		return channel.OutOfMemory, "the program was refused more memory (sandbox.memory_mib)"
	case said:
		return channel.Crashed, v.Reason
	case stop.Kind == engine.Exited:
		return channel.Crashed, fmt.Sprintf("the program exited with status %d", stop.Code)
	case stop.Kind == engine.TooDeep:
		return channel.Crashed, "calls are nested too deeply (sandbox.call_depth)"
	}
	return channel.Crashed, text.Escape(stop.Error())
}

var _ engine.Channel = (*beside)(nil)
