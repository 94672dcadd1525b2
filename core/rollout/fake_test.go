package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// walk is the tests' environment: a walker on a line of length goal, at a
// start that the seed sets; reaching goal terminates with reward 1. Everything
// that it does is a function of the seed and the actions.
type walk struct {
	spec   env.Spec
	script *script
	slots  []walker
	closed bool
	short  bool
	busy   sync.Mutex
}

type walker struct {
	seed uint64
	pos  int
	step int
}

const goal = 6

// mishap is what a script makes a walk do in an exchange.
type mishap int

const (
	none mishap = iota
	crash
	hang
	shortColumn
	nanReward
	nanFeature
	noAction
	strayEvent
	slotFails
	wasOver
)

// script steers every walk that it opens and counts what happens to them.
type script struct {
	slots  int
	text   bool // actions are free text
	system string
	// fault says what happens when the walker of seed takes step (0 = reset).
	fault func(seed uint64, step int) mishap
	// reply may change what a slot answers to an action.
	reply func(i int, w walker, action string, r *env.Reply)
	// begin may change what a slot says after a reset.
	begin func(i int, w walker, r *env.Reply)
	start func() int // shifts where the next episode starts, against the contract
	spec  func(opened int, s *env.Spec)

	mu     sync.Mutex
	opened int
	open   int
}

func (s *script) Open(context.Context, int) (env.Env, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	s.open++
	spec := env.Spec{Name: "walk", Version: "1", Slots: s.slots, Actions: []string{"left", "right", "stay"}, FeatureShape: []int{2}, MaxSteps: 40, System: s.system}
	if s.text {
		spec.Actions = nil
	}
	if s.spec != nil {
		s.spec(s.opened, &spec)
	}
	w := &walk{spec: spec, script: s, slots: make([]walker, s.slots)}
	return w, nil
}

func (w *walk) Spec() env.Spec { return w.spec }

func (w *walk) Close() error {
	w.script.mu.Lock()
	defer w.script.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.script.open--
	}
	return nil
}

func (w *walk) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if !w.busy.TryLock() || w.closed {
		panic("the contract of env.Env is broken: concurrent use, or use after close")
	}
	defer w.busy.Unlock()
	if err := b.Check(w.spec); err != nil {
		panic(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n, na := w.spec.Slots, len(w.spec.Actions)
	if len(r.Flags) != n {
		*r = env.Reply{
			Anchor: make([]string, n), Text: make([]string, n), Features: make([]float32, 2*n),
			Mask: make([]byte, n*na), Reward: make([]float64, n), Flags: make([]env.Flag, n),
		}
	}
	for i, op := range b.Ops {
		if err := w.apply(ctx, i, op, b, r); err != nil {
			return err
		}
	}
	if w.short {
		r.Text = r.Text[1:]
	}
	return nil
}

func (w *walk) apply(ctx context.Context, i int, op env.Op, b *env.Batch, r *env.Reply) error {
	s := &w.slots[i]
	na := len(w.spec.Actions)
	action := b.Texts[i]
	r.Reward[i], r.Flags[i] = math.NaN(), 255 // undefined where op is Skip
	switch op {
	case env.Skip:
		return nil
	case env.Reset:
		shift := 0
		if w.script.start != nil {
			shift = w.script.start()
		}
		*s = walker{seed: b.Seeds[i], pos: int(b.Seeds[i]%3) + shift}
	case env.Step:
		s.step++
		if na > 0 {
			action = w.spec.Actions[b.Actions[i]]
		}
		switch {
		case strings.HasPrefix(action, "left"):
			s.pos--
		case strings.HasPrefix(action, "right"):
			s.pos++
		}
	}
	r.Reward[i], r.Flags[i] = 0, 0
	if s.pos < -2 {
		s.pos = -2
		r.Flags[i] |= env.InvalidAction
	}
	if s.pos >= goal {
		r.Flags[i] |= env.Terminated
		r.Reward[i] = 1
	} else if s.step >= w.spec.MaxSteps {
		r.Flags[i] |= env.Truncated
	}
	r.Anchor[i] = fmt.Sprint(s.pos)
	r.Text[i] = fmt.Sprintf("You stand at %d of %d.", s.pos, goal)
	r.Features[2*i], r.Features[2*i+1] = float32(s.pos), float32(s.step)
	for k := range na {
		r.Mask[i*na+k] = 1
	}
	if w.script.reply != nil && op == env.Step {
		w.script.reply(i, *s, action, r)
	}
	if w.script.begin != nil && op == env.Reset {
		w.script.begin(i, *s, r)
	}
	if w.script.fault == nil {
		return nil
	}
	return w.fail(ctx, i, w.script.fault(s.seed, s.step), r)
}

func (w *walk) fail(ctx context.Context, i int, f mishap, r *env.Reply) error {
	na := len(w.spec.Actions)
	switch f {
	case crash:
		return errors.New("exit status 2: panic: walked off the map")
	case hang:
		<-ctx.Done()
		return ctx.Err()
	case shortColumn:
		w.short = true
	case nanReward:
		r.Reward[i] = math.NaN()
	case nanFeature:
		r.Features[2*i] = float32(math.Inf(1))
	case noAction:
		clear(r.Mask[i*na : (i+1)*na])
	case strayEvent:
		r.Events = append(r.Events, env.Event{Slot: w.spec.Slots, Kind: env.EventInfo})
	case slotFails:
		r.Flags[i] = env.Failed
		r.Events = append(r.Events, env.Event{Slot: i, Kind: env.EventError, Message: "index out of range"})
	case wasOver:
		r.Flags[i] |= env.Terminated
	}
	return nil
}

// once makes f happen the first n times that the walker of any seed takes step.
func once(f mishap, n, step int) func(uint64, int) mishap {
	var mu sync.Mutex
	return func(_ uint64, at int) mishap {
		mu.Lock()
		defer mu.Unlock()
		if at != step || n == 0 {
			return none
		}
		n--
		return f
	}
}

// dice is a policy that draws from the actions with the decision's seed.
type dice struct {
	value  bool
	change func(o policy.Observation, d *policy.Decision)
}

func (dice) Version() uint64 { return 7 }

func (p dice) Act(ctx context.Context, obs []policy.Observation, decisions []policy.Decision) error {
	for i, o := range obs {
		d := &decisions[i]
		u := o.Seed.Uniform()
		choice := int(u * 3)
		if u > 0.5 {
			choice = 1
		}
		d.Action = rl.Action{Kind: rl.ActionChoice, Choice: choice}
		if o.Actions == nil {
			d.Action = rl.Action{Kind: rl.ActionText, Text: []string{"left", "right", "stay"}[choice]}
		}
		d.LogProb, d.Entropy, d.LogitMax = math.Log(u), u, float32(u)
		d.Value, d.HasValue = u, p.value
		if p.change != nil {
			p.change(o, d)
		}
	}
	return ctx.Err()
}
