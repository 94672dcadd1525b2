package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/wire"
)

// remote is the part of a module on this side of the pipe.
type remote struct {
	fleet   *fleet
	number  int
	profile detached
	info    reward.Info
}

// loadedModule is what a worker says of a module that it loaded.
type loadedModule struct {
	ABI      string   `json:"abi"`
	Group    bool     `json:"group"`
	Manifest Manifest `json:"manifest"`
}

// refusedModule is a refusal on its way through the pipe.
type refusedModule struct {
	Kind  fault.Kind `json:"kind"`
	Where string     `json:"where"`
	What  string     `json:"what"`
	Hint  string     `json:"hint"`
	Cause string     `json:"cause,omitempty"`
}

func (f refusedModule) fault() *fault.Error {
	e := &fault.Error{Boundary: fault.Sandbox, Kind: f.Kind, Where: escape(f.Where), What: escape(f.What), Hint: escape(f.Hint)}
	if f.Cause != "" {
		e.Err = errors.New(escape(f.Cause))
	}
	return e
}

// Wall says what the worker processes of isolation: process are held by on
// this system, and which measures it does not have.
func (r *Runtime) Wall() (inForce, missing []string) {
	if r.fleet == nil {
		return nil, nil
	}
	return r.fleet.measures.InForce, r.fleet.measures.Missing
}

// loadRemote loads a module in a worker process: what reads and compiles its
// bytes is there.
func (r *Runtime) loadRemote(ctx context.Context, name string, wasm []byte) (*Module, error) {
	if len(wasm) > r.config.ModuleMiB<<20 {
		return nil, refusal(name, fmt.Sprintf("it has %d bytes", len(wasm)), "raise module_mib if you trust it", nil)
	}
	l, err := r.fleet.get(ctx)
	if err != nil {
		return nil, interruptedOr(ctx, name, err)
	}
	number := r.fleet.add(name, slices.Clone(wasm))
	said, v, err := r.fleet.load(ctx, l, number)
	r.fleet.put(l, v != nil)
	if v != nil {
		err = refusal(name, "the module cannot be loaded in a worker process", "raise worker_mib if you trust it", v)
	}
	var p detached
	if err == nil {
		p, err = said.profile(name)
	}
	if err != nil {
		r.fleet.remove(number)
		return nil, interruptedOr(ctx, name, err)
	}
	if said.Manifest.Name != "" {
		name = said.Manifest.Name
	}
	m := &Module{runtime: r, profile: p, manifest: said.Manifest, info: reward.Info{
		Name: name, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(wasm)), ABI: p.name(),
		StepIndexing: said.Manifest.StepIndex, Group: p.group(),
	}}
	m.remote = &remote{fleet: r.fleet, number: number, profile: p, info: m.info}
	r.add(m)
	return m, nil
}

func interruptedOr(ctx context.Context, name string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Interrupted, Where: escape(name), What: "loading was stopped", Err: ctx.Err()}
}

// profile finds the profile that a worker found, and checks what it said
// beside.
func (s *loadedModule) profile(name string) (detached, error) {
	if err := s.Manifest.complete(); err != nil {
		return nil, refusal(name, "the module was refused", "build it again", err)
	}
	entry := flatEvaluate
	if s.Group {
		entry = flatGroup
	}
	for _, p := range []detached{flat{entry: entry}, command{}} {
		if p.name() == s.ABI && p.group() == s.Group {
			return p, nil
		}
	}
	return nil, refusal(name, fmt.Sprintf("isolation: process does not run modules of %q", s.ABI), "use isolation: snapshot", nil)
}

// load has a worker load a module. The verdict is not nil if the worker broke,
// err if the module was refused.
func (f *fleet) load(ctx context.Context, l *link, number int) (*loadedModule, *verdict, error) {
	m, stale := f.module(l, number)
	for _, n := range stale {
		delete(l.loaded, n)
		if err := l.tell(wire.Unload, func(b []byte) []byte { return wire.AppendNumber(b, n) }); err != nil {
			return nil, l.broken(ctx, wire.Unload, err), nil
		}
	}
	if _, done := l.loaded[number]; done {
		return nil, nil, nil
	}
	frame, v := l.ask(ctx, loadPatience, 1<<20, wire.Load, func(b []byte) []byte { return wire.AppendModule(b, m) })
	if v != nil {
		return nil, v, nil
	}
	var said loadedModule
	var refused refusedModule
	switch {
	case frame.Kind == wire.Loaded && json.Unmarshal(frame.Payload, &said) == nil:
		l.loaded[number] = nil // its encoder is made with the first evaluation
		return &said, nil, nil
	case frame.Kind == wire.Refused && json.Unmarshal(frame.Payload, &refused) == nil:
		return nil, nil, refused.fault()
	}
	return nil, infrastructure(wire.ErrMessage), nil
}

// evaluate is Module.EvaluateGroup, or Module.Evaluate with one member. Input
// is nil unless they are encoded already.
func (r *remote) evaluate(ctx context.Context, members []*rl.Trajectory, input []byte) []reward.Evaluation {
	start := time.Now()
	results, fuel, v := r.try(ctx, members, input)
	if v != nil {
		results = make([]reward.Evaluation, len(members))
		for i := range results {
			results[i] = failed(v, start)
		}
	}
	share(results, fuel, start)
	return results
}

func (r *remote) try(ctx context.Context, members []*rl.Trajectory, input []byte) (results []reward.Evaluation, fuel uint64, v *verdict) {
	l, err := r.fleet.get(ctx)
	if err != nil {
		return nil, 0, infrastructure(err)
	}
	broken := true
	defer func() { r.fleet.put(l, broken) }()
	_, v, err = r.fleet.load(ctx, l, r.number)
	if v != nil {
		return nil, 0, v
	}
	broken = false
	if err != nil {
		return nil, 0, infrastructure(err)
	}
	if input == nil {
		encode := l.loaded[r.number]
		if encode == nil {
			encode = r.profile.encoder(r.fleet.config.Limits)
			l.loaded[r.number] = encode
		}
		if input, err = encode(members); err != nil {
			return nil, 0, badInput(err)
		}
	}
	if limit := r.fleet.config.InputMiB << 20; len(input) > limit {
		return nil, 0, badInput(&abi.TooLarge{Limit: limit})
	}
	frame, v := l.ask(ctx, r.fleet.config.WallClock+latePatience, answerBytes(r.fleet.config.Limits, len(members)), wire.Evaluate,
		func(b []byte) []byte { return wire.AppendRequest(b, r.number, members, input) })
	if v == nil {
		results, fuel, v = r.read(frame, members)
	}
	broken = v != nil
	return results, fuel, v
}

// answerBytes bounds an answer: what a collector lets through, escaped, which
// may make a byte four.
func answerBytes(l Limits, members int) int {
	return 1<<20 + 4*(l.OutputKiB<<10+l.LogKiB<<10) + l.Steps*64 + members*4096
}

// read reads an answer. A worker is believed no more than a guest: what it
// says goes through a collector as well.
func (r *remote) read(frame wire.Frame, members []*rl.Trajectory) ([]reward.Evaluation, uint64, *verdict) {
	if frame.Kind != wire.Result {
		return nil, 0, infrastructure(wire.ErrMessage)
	}
	answer, err := wire.ParseAnswer(frame.Payload)
	if err != nil || len(answer.Evaluations) != len(members) {
		return nil, 0, infrastructure(wire.ErrMessage)
	}
	limits := r.fleet.config.Limits
	limits.OutputKiB *= 4
	c := newCollector(limits, r.info.StepIndexing)
	c.start(members, r.info.Group)
	log := escape(answer.Log)
	for i := range answer.Evaluations {
		e := &answer.Evaluations[i]
		c.current = i
		ended := e.Outcome == reward.Scored || e.Outcome == reward.Invalid
		if v := c.takeResult(&e.Result); v != nil || e.Result.IsScoreValid != (e.Outcome == reward.Scored) || !ended && len(c.members[i].steps)+len(c.members[i].metrics) > 0 {
			return nil, 0, infrastructure(wire.ErrMessage)
		}
		e.Log, e.Reason = log, escape(e.Reason)
		e.Result.Reason = escape(e.Result.Reason)
	}
	return answer.Evaluations, answer.Fuel, nil
}
