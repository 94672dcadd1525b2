package sandbox

import (
	"context"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/remote"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// backend is where the modules of a runtime run: in this process, or in worker
// processes.
type backend interface {
	// Load checks and starts a reward. The error is a *fault.Error.
	Load(ctx context.Context, s source.Source) (guest, error)
	// Wall says what holds the guests beside WebAssembly, and what is missing.
	Wall() (inForce, missing []string)
	// Close ends the backend; its guests must be closed before.
	Close()
}

// guest is a loaded module in its backend. It is safe for concurrent use,
// except for Close.
type guest interface {
	Info() reward.Info
	Manifest() Manifest
	// Evaluate scores a trajectory; input is nil unless it is encoded already.
	Evaluate(ctx context.Context, t *rl.Trajectory, input []byte) reward.Evaluation
	// EvaluateGroup scores the members of a group, of which there is at least one.
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

// behind is the backend behind the second wall.
type behind struct{ *remote.Backend }

func (b behind) Load(ctx context.Context, s source.Source) (guest, error) {
	m, err := b.Backend.Load(ctx, s)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// newBackend makes the backend that cfg asks for.
func newBackend(ctx context.Context, cfg Config) (backend, error) {
	if cfg.Isolation == Process {
		b, err := remote.New(ctx, remote.Options{Options: cfg.options(), WorkerMiB: cfg.WorkerMiB}, languages(), WorkerArgument)
		return behind{b}, err
	}
	b, err := local.New(cfg.options(), languages())
	return here{b}, err
}
