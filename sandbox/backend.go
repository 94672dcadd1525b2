package sandbox

import (
	"context"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/remote"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// backend runs the modules of a runtime: in this process, or in worker
// processes.
type backend interface {
	// Load checks and starts a reward. The error is a *fault.Error.
	Load(ctx context.Context, s source.Source) (guest, error)
	// Wall returns the measures that isolate guests in addition to WebAssembly, and
	// those that are missing.
	Wall() (inForce, missing []string)
	// Close closes the backend. Its guests must be closed first.
	Close()
}

// guest is a loaded module in its backend. It is safe for concurrent use,
// except for Close.
type guest interface {
	Info() reward.Info
	Manifest() Manifest
	// Evaluate scores a trajectory; input is nil unless t is already encoded.
	Evaluate(ctx context.Context, t *rl.Trajectory, input []byte) reward.Evaluation
	// EvaluateGroup scores the members of a group; there must be at least one.
	EvaluateGroup(ctx context.Context, members []*rl.Trajectory) []reward.Evaluation
	Cached() bool
	Fresh() bool
	PeakMemory() int
	Close(ctx context.Context)
}

// here is the backend in this process.
type here struct{ *local.Backend }

func (b here) Load(ctx context.Context, s source.Source) (guest, error) {
	m, err := b.Backend.Load(ctx, s)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (here) Wall() (inForce, missing []string) { return nil, nil }

// behind is the backend in worker processes, behind the second wall.
type behind struct{ *remote.Backend }

func (b behind) Load(ctx context.Context, s source.Source) (guest, error) {
	m, err := b.Backend.Load(ctx, s)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// newBackend makes the backend that cfg selects.
func newBackend(ctx context.Context, cfg Config) (backend, error) {
	o := cfg.options()
	if cfg.Isolation == Process {
		b, err := remote.New(ctx, remote.Options{Options: o, WorkerMiB: cfg.WorkerMiB}, cfg.languages(), WorkerArgument)
		return behind{b}, err
	}
	b, err := local.New(o, cfg.languages())
	return here{b}, err
}
