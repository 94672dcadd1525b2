package sandbox

import (
	"context"
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
	script  string   // its extension, if it is one
	profile detached // nil for a script
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
func (r *Runtime) loadRemote(ctx context.Context, m wire.Module, digest string) (*Module, error) {
	if len(m.Wasm) > r.config.ModuleMiB<<20 && m.Language == "" {
		return nil, refusal(m.Name, fmt.Sprintf("it has %d bytes", len(m.Wasm)), "raise module_mib if you trust it", nil)
	}
	l, err := r.fleet.get(ctx, m.Language)
	if err != nil {
		return nil, interruptedOr(ctx, m.Name, err)
	}
	m.Wasm = slices.Clone(m.Wasm) // for the workers to come
	number := r.fleet.add(m)
	said, v, err := r.fleet.load(ctx, l, number)
	r.fleet.put(l, v != nil)
	if v != nil {
		err = refusal(m.Name, "the module cannot be loaded in a worker process", "raise worker_mib if you trust it", v)
	}
	var p detached
	if err == nil {
		p, err = said.check(m)
	}
	if err != nil {
		r.fleet.remove(number)
		return nil, interruptedOr(ctx, m.Name, err)
	}
	info := reward.Info{Name: m.Name, Digest: digest, ABI: said.ABI, StepIndexing: said.Manifest.StepIndex, Group: said.Group}
	if said.Manifest.Name != "" {
		info.Name = said.Manifest.Name
	}
	module := &Module{runtime: r, manifest: said.Manifest, info: info, remote: &remote{fleet: r.fleet, number: number, script: m.Language, profile: p, info: info}}
	if p != nil {
		module.profile = p
	}
	r.add(module)
	return module, nil
}

func interruptedOr(ctx context.Context, name string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Interrupted, Where: escape(name), What: "loading was stopped", Err: ctx.Err()}
}

// check checks what a worker said, and finds the profile of what is no script.
func (s *loadedModule) check(m wire.Module) (detached, error) {
	if err := s.Manifest.complete(); err != nil {
		return nil, refusal(m.Name, "the module was refused", "build it again", err)
	}
	s.ABI = escape(s.ABI)
	if m.Language != "" {
		return nil, nil
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
	return nil, refusal(m.Name, fmt.Sprintf("its worker says %q of it", s.ABI), "report it: worker and host should be one program", nil)
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
	l, err := r.fleet.get(ctx, r.script)
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
			encode = r.encoder()
			l.loaded[r.number] = encode
		}
		if input, err = encode(members); err != nil {
			return nil, 0, badInput(err)
		}
	}
	limit := r.fleet.config.InputMiB << 20
	if r.profile == nil {
		limit += frameRoom / 2 // JSON is longer; the worker asks again
	}
	if len(input) > limit {
		return nil, 0, badInput(&abi.TooLarge{Limit: r.fleet.config.InputMiB << 20})
	}
	frame, v := l.ask(ctx, r.fleet.config.WallClock+latePatience, answerBytes(r.fleet.config.Limits, len(members)), wire.Evaluate,
		func(b []byte) []byte { return wire.AppendRequest(b, r.number, members, input) })
	if v == nil {
		results, fuel, v = r.read(frame, members)
	}
	broken = v != nil
	return results, fuel, v
}

// encoder returns what writes the input of evaluations.
func (r *remote) encoder() encoder {
	if r.profile == nil {
		return func(members []*rl.Trajectory) ([]byte, error) { return json.Marshal(members) }
	}
	return r.profile.encoder(r.fleet.config.Limits)
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
