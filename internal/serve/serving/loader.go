package serving

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/merit-rl/merit/sandbox"
)

// loader opens rewards in sandboxes of each tenant's own: what crashes, loops
// or eats memory is in processes that no other tenant uses.
type loader struct {
	config    sandbox.Config // with the isolation in force
	most      Most
	sandboxes int // of a tenant
	limits    func(tenant string) tenant.Limits
	// turn waits for a turn to compute for a tenant, which done ends.
	turn func(ctx context.Context, tenant string) (done func(), err error)

	mu    sync.Mutex
	rooms map[roomKey]*room
}

// roomIdle is how long a sandbox stays without an open reward: its worker
// processes take a while to start.
const roomIdle = time.Minute

// workerMiB is what a worker process has beside the memory of an evaluation, at
// least: for code, the compiler and other rewards.
const workerMiB = 1024

// Load implements library.Loader. The operator's own rewards are checked for no
// tenant.
func (l *loader) Load(ctx context.Context, name, path string, o library.Options) (library.Reward, error) {
	k, err := l.key(name, o)
	if err != nil {
		return nil, err
	}
	r, err := l.enter(ctx, k)
	if err != nil {
		return nil, err
	}
	done, err := l.turn(ctx, name) // a start may compute for long
	if err != nil {
		l.leave(ctx, r)
		return nil, err
	}
	defer done()
	m, err := r.runtime.LoadReference(ctx, sandbox.Reference{Path: path, Function: o.Function, With: o.With, Batch: o.Batch})
	if err != nil {
		l.leave(ctx, r)
		return nil, l.explain(path, r, err)
	}
	return &opened{m, func(ctx context.Context) { l.leave(ctx, r) }}, nil
}

// explain says everything that is wrong with a module, where loading it stops
// at the first.
func (l *loader) explain(path string, r *room, err error) error {
	f := fault.As(err)
	if f == nil || f.Kind != fault.Refused || filepath.Ext(path) != ".wasm" {
		return err
	}
	if x, failed := sandbox.Inspect(path, r.runtime.Config().Limits); failed == nil && x.Err() != nil {
		return x.Err()
	}
	return err
}

// close closes every sandbox. Nothing is open.
func (l *loader) close(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rooms {
		if r.unused != nil {
			r.unused.Stop()
		}
		if r.runtime != nil {
			_ = r.runtime.Close(ctx) // it has no error to give
			r.runtime = nil
		}
	}
	l.rooms = map[roomKey]*room{}
}

// opened is an open reward in its sandbox.
type opened struct {
	*sandbox.Module
	leave func(ctx context.Context)
}

// manifest is a manifest, and whether the reward as it was opened compares: of a
// script that is one function's matter.
type manifest struct {
	sandbox.Manifest
	Group   bool             `json:"group"`
	Refused []reward.Refusal `json:"refused,omitempty"`
}

// Manifest implements library.Reward.
func (o *opened) Manifest() any {
	return manifest{o.Module.Manifest(), o.Info().Group, o.Info().Refused}
}

// Close implements library.Reward.
func (o *opened) Close(ctx context.Context) {
	o.Module.Close(ctx)
	o.leave(ctx)
}
