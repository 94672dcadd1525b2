// Package world runs environments that are WebAssembly modules, as an env.Env in this
// process. Every slot has a separate instance: what a guest does to itself ends the
// episode of its slot, and nothing else. Each episode starts from the same state of the
// memory, so that the seed and the actions determine every byte and all fuel.
//
// internal/wire/block defines what the host and the module exchange.
package world

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
	pb "github.com/merit-rl/merit/internal/wire/proto"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Module is a compiled environment.
type Module struct {
	backend *local.Backend
	options local.Options
	name    string
	digest  string
	program *engine.Program
	by      interpreter.Interpreter
	open    source.Opener // how an interpreter plays a script; nil for a module
	born    *engine.State // after the start; nil if a snapshot cannot hold the state
	memo    []byte        // what the start learned
	// otherwise is what else helps if a script cannot be started.
	otherwise string
	about     wire.Description
}

// Load checks, meters and compiles a module or the interpreter of a script, starts it and
// reads its description. The error is a *fault.Error that lists all problems.
func Load(ctx context.Context, b *local.Backend, o local.Options, s source.Source) (*Module, error) {
	m := &Module{backend: b, options: o, name: s.Name, digest: s.Digest}
	if err := m.compile(ctx, s); err != nil {
		return nil, err
	}
	if err := m.describe(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Module) compile(ctx context.Context, s source.Source) (err error) {
	if s.Script != nil {
		var process engine.Process
		m.open, process = s.Script.Language.Play(s.Script)
		if s.Script.Language.Extension() == ".py" {
			m.otherwise = "; name it in plugin to run it as a program, which has all packages, files and the network"
		}
		m.by = s.Script.Language.Interpreter()
		if m.program, err = m.backend.Interpreter(ctx, m.by); err == nil {
			m.program.Process = process
		}
		return err
	}
	code := engine.Module{Title: s.Name, Digest: strings.TrimPrefix(s.Digest, "sha256:"), Read: func() ([]byte, error) { return s.Wasm, nil }}
	if m.program, err = m.backend.Engine().Compile(ctx, code, fuel.Options{Limits: m.backend.Gate()}, m.examine); err != nil {
		return local.Rejection(s.Name, s.Wasm, err)
	}
	m.program.Process = engine.Process{Files: engine.NewFiles(nil)}
	return nil
}

// Close frees the module; its environments must be closed first, and its backend after it.
func (m *Module) Close() {
	if m.born != nil {
		m.born.Close()
	}
	if m.program != nil {
		m.program.Close(context.Background())
	}
}

// Description returns the name, version, summary and options of the environment.
func (m *Module) Description() wire.Description { return m.about }

// Digest is the SHA-256 of the module, as sha256:….
func (m *Module) Digest() string { return m.digest }

// wanted lists the functions that a module must have, with their types.
var wanted = []struct {
	name            string
	optional        bool
	params, results []fuel.ValueType
}{
	{block.Mark, false, nil, nil},
	{block.Alloc, false, []fuel.ValueType{fuel.I32}, []fuel.ValueType{fuel.I32}},
	{block.Describe, false, nil, []fuel.ValueType{fuel.I32}},
	{block.Configure, false, []fuel.ValueType{fuel.I32, fuel.I32}, []fuel.ValueType{fuel.I32}},
	{block.Reset, false, []fuel.ValueType{fuel.I64, fuel.I32}, []fuel.ValueType{fuel.I32}},
	{block.Step, false, []fuel.ValueType{fuel.I32, fuel.I32, fuel.I32, fuel.I32}, []fuel.ValueType{fuel.I32}},
	{block.Render, true, nil, []fuel.ValueType{fuel.I32}},
	{block.Encode, true, []fuel.ValueType{fuel.I32, fuel.I32}, []fuel.ValueType{fuel.I32}},
	{"_initialize", true, nil, nil},
}

// hint says how to build a module that exports them.
const hint = "build it with merit plugin build; docs/environment-modules.md lists what a module in another language exports"

// examine lists every way in which a module that passed the gate is not an environment.
func (m *Module) examine(info *fuel.Info) error {
	var wrong []string
	for _, want := range wanted {
		e, ok := info.Export(want.name)
		as := fuel.FuncType{Params: want.params, Results: want.results}
		switch {
		case !ok && !want.optional:
			wrong = append(wrong, fmt.Sprintf("it does not export %s %v", want.name, as))
		case ok && e.Kind != fuel.FuncExtern:
			wrong = append(wrong, fmt.Sprintf("its export %s is a %v, not a function", want.name, e.Kind))
		case ok && (!slices.Equal(e.Func.Params, want.params) || !slices.Equal(e.Func.Results, want.results)):
			wrong = append(wrong, fmt.Sprintf("its export %s is %v, not %v", want.name, e.Func, as))
		}
	}
	if e, ok := info.Export("memory"); !ok || e.Kind != fuel.MemoryExtern {
		wrong = append(wrong, "it does not export memory")
	}
	for _, i := range info.Imports {
		if i.Module == result.Module {
			wrong = append(wrong, fmt.Sprintf("it imports %s.%s, which only rewards have", i.Module, i.Name))
		}
		if _, fits := engine.Known(m.backend.Engine().Imports(), i); !fits {
			wrong = append(wrong, fmt.Sprintf("it imports %s.%s as %v, which is not its signature", i.Module, i.Name, i.Func))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	what := "the module is not an environment: " + strings.Join(wrong, "; ")
	if _, reward := info.Export("merit_abi_1"); reward {
		what = "the module is a reward, not an environment; name it in rewards[].module"
	}
	return source.Refusal(m.name, what, hint, nil)
}

// describe starts an instance, keeps its state for all others, and asks it what it is.
func (m *Module) describe(ctx context.Context) error {
	g, err := m.newGuest(ctx)
	if err != nil {
		return err
	}
	defer g.close()
	if err := m.bear(ctx, g); err != nil {
		return err
	}
	text, err := g.ask(ctx, "describe itself", m.startBudget(), block.Describe, nil)
	if err != nil {
		return err
	}
	var d struct {
		Name    string          `json:"name"`
		Version string          `json:"version"`
		Summary string          `json:"summary"`
		Options json.RawMessage `json:"options"`
	}
	if err := strictjson.Unmarshal(text, &d); err != nil {
		return m.broken(fault.Protocol, "its description is not JSON: "+err.Error(), "correct what merit_describe returns")
	}
	m.about, err = wire.DecodeDescription(&pb.Description{Protocol: wire.Protocol, Name: d.Name, Version: d.Version, Summary: d.Summary, Options: d.Options})
	return err
}

// bear brings the first guest to the state after the start, and keeps that: for a script in
// the cache too, because to start an interpreter and to import what a script imports takes
// longer than everything else.
func (m *Module) bear(ctx context.Context, g *guest) (err error) {
	if m.recall(); m.born != nil {
		return g.adopt(m.born)
	}
	if err := g.start(ctx); err != nil {
		return err
	}
	if m.memo = g.player.Memo(); !m.program.Restorable() {
		return nil
	}
	if m.born, err = g.instance.Snapshot(); err != nil {
		return m.broken(fault.Internal, err.Error(), "free some memory")
	}
	m.keep()
	return nil
}

// birth names everything that determines the state after the start of a script, apart from
// Merit itself.
func (m *Module) birth() string {
	l := m.options.Limits
	return fmt.Sprintf("environment %s %x %d %d %d", m.program.Key(), m.program.Process.Sum(), m.startBudget().Fuel, l.MemoryMiB, l.CallDepth)
}

func (m *Module) keep() {
	if m.open == nil {
		return
	}
	if state, ok := m.born.Pieces(); ok {
		memo := append(le.AppendUint32(nil, uint32(len(m.memo))), m.memo...)
		m.backend.Engine().Keep(m.birth(), append([][]byte{memo}, state...)...)
	}
}

// recall reads what an earlier process kept, if it did.
func (m *Module) recall() {
	if m.open == nil {
		return
	}
	m.backend.Engine().Recall(m.birth(), func(data []byte) {
		if len(data) < 4 || int(le.Uint32(data)) > len(data)-4 {
			return
		}
		n := 4 + int(le.Uint32(data))
		if state, err := engine.ParseState(data[n:]); err == nil {
			m.born, m.memo = state, bytes.Clone(data[4:n])
		}
	})
}

// startBudget is the budget of a start and of a configuration.
func (m *Module) startBudget() engine.Budget {
	l := m.options.Limits
	return engine.Budget{Fuel: max(l.StartFuel, l.Fuel), Depth: m.backend.Depth(m.by), Wall: max(l.StartWallClock, l.WallClock)}
}

// budget is the budget of a reset or a step.
func (m *Module) budget() engine.Budget {
	l := m.options.Limits
	return engine.Budget{Fuel: l.Fuel, Depth: m.backend.Depth(m.by), Wall: l.WallClock}
}

// broken returns an error of the module as a whole.
func (m *Module) broken(kind fault.Kind, what, hint string) error {
	return &fault.Error{Boundary: fault.Sandbox, Kind: kind, Where: m.name, What: what, Hint: hint}
}

// errClosed is the misuse of an environment that was closed.
var errClosed = errors.New("the environment is closed")
