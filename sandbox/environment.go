package sandbox

import (
	"context"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/internal/world"
)

// OpenEnvironment checks, meters and compiles the environment in a WebAssembly file, or
// opens that in a script: in this file alone, or together with all files of its folder. It
// then configures the environment, which runs in this process, whatever c.Isolation says of rewards: each slot
// has an instance, and each episode starts from the same state. Limits.Fuel, MemoryMiB,
// CallDepth and WallClock limit every reset and step; what exceeds them is the failure of
// its slot.
//
// The error is a *fault.Error, or several, joined, for options that the module rejects;
// the description is then valid if it has a name.
func (c Config) OpenEnvironment(ctx context.Context, path string, folder bool, setup wire.Configuration) (env.Env, wire.Description, error) {
	c.Isolation = Snapshot
	if err := c.check(); err != nil {
		return nil, wire.Description{}, err
	}
	if c.Workers == 0 {
		c.Workers = cpus.Count()
	}
	s, err := source.Environment(path, folder, c.languages(), c.sizes())
	if err != nil {
		return nil, wire.Description{}, err
	}
	b, err := local.New(c.options(), c.languages())
	if err != nil {
		return nil, wire.Description{}, err
	}
	m, err := world.Load(ctx, b, c.options(), s)
	if err != nil {
		b.Close()
		return nil, wire.Description{}, err
	}
	e, err := m.Open(ctx, setup)
	if err != nil {
		m.Close()
		b.Close()
		return nil, m.Description(), err
	}
	e.Release = func() { m.Close(); b.Close() }
	return e, m.Description(), nil
}
