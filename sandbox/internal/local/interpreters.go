package local

import (
	"context"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// interpreter returns the module of an interpreter. Its digest is known without
// reading the file.
func (b *Backend) interpreter(i interpreter.Interpreter) engine.Module {
	return engine.Module{Title: i.Title, Digest: i.Digest, Valid: true, Read: func() ([]byte, error) {
		module, _, err := i.Open(b.options.InterpreterDir)
		return module, err
	}}
}

// Precompile compiles an interpreter into the cache, as the first script would.
func (b *Backend) Precompile(ctx context.Context, i interpreter.Interpreter) error {
	program, err := b.Interpreter(ctx, i)
	if err == nil {
		program.Close(ctx)
	}
	return err
}

// Interpreter compiles an interpreter. The error is a *fault.Error or an
// *interpreter.Missing.
func (b *Backend) Interpreter(ctx context.Context, i interpreter.Interpreter) (*engine.Program, error) {
	anything := func(*fuel.Info) error { return nil }
	program, err := b.engine.Compile(ctx, b.interpreter(i), fuel.Options{Limits: b.gate(true)}, anything)
	if err != nil && fault.As(err) == nil {
		err = source.Refusal(i.Title, "the interpreter cannot be compiled", "report it", err)
	}
	return program, err
}

// Preload compiles an interpreter for all later scripts. It is not safe for
// concurrent use.
func (b *Backend) Preload(ctx context.Context, i interpreter.Interpreter) error {
	return b.engine.Preload(ctx, b.interpreter(i), fuel.Options{Limits: b.gate(true)})
}

// Detach prepares the backend for a process that soon cannot open files and may
// map only mostMapped bytes.
func (b *Backend) Detach(mostMapped int64) {
	b.detached = true
	b.engine.Detach(mostMapped)
}
