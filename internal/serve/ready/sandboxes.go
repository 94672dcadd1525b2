package ready

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/merit-rl/merit/sandbox"
)

// Sandboxes opens rewards in sandboxes of each tenant's own: what crashes, loops
// or eats memory is in processes that no other tenant uses. It is a Loader.
type Sandboxes struct {
	config    sandbox.Config // with the isolation in force
	most      Most
	registry  *tenant.Registry
	scheduler *tenant.Scheduler
	pool      *Pool[box]
}

// Most bounds what a request may ask for.
type Most struct {
	// Fuel of one evaluation.
	Fuel uint64 `yaml:"fuel" json:"fuel"`
	// MemoryMiB of one evaluation.
	MemoryMiB int `yaml:"memory_mib" json:"memory_mib"`
	// WallClock of one evaluation. A request that asks for more fuel than
	// sandbox.fuel gets more time in proportion, up to this.
	WallClock time.Duration `yaml:"wall_clock" json:"wall_clock"`
}

// boxIdle is how long a sandbox stays without an open reward: its worker
// processes take a while to start.
const boxIdle = time.Minute

// workerMiB is what a worker process has beside the memory of an evaluation, at
// least: for code, the compiler and other rewards.
const workerMiB = 1024

// NewSandboxes returns sandboxes as c says, for the limits of each tenant in r and
// in its turn. A tenant has at most each of them, one for each combination of
// limits.
func NewSandboxes(c sandbox.Config, most Most, each int, r *tenant.Registry, s *tenant.Scheduler) *Sandboxes {
	return &Sandboxes{config: c, most: most, registry: r, scheduler: s, pool: NewPool[box](Bounds{
		Each: each, All: math.MaxInt, Idle: boxIdle, Loads: each, Full: fault.Error{
			Where: "limits", What: fmt.Sprintf("rewards are open with %d different limits, which is as many as may be", each),
			Hint: "ask for the same limits in all requests",
		},
	})}
}

// Close closes every sandbox. Nothing is open in them.
func (s *Sandboxes) Close(ctx context.Context) { s.pool.Close(ctx) }

// box is a sandbox.
type box struct{ *sandbox.Runtime }

func (b box) Close(ctx context.Context) { _ = b.Runtime.Close(ctx) } // it has no error to give

// shape is what a sandbox is made for.
type shape struct {
	fuel      uint64
	memoryMiB int
	wallClock time.Duration
}

// shape holds what a request asks for to what its tenant and the server allow. The
// operator's own rewards are checked for no tenant.
func (s *Sandboxes) shape(name string, o Options) (shape, error) {
	most := s.most
	if t, ok := s.registry.Get(name); ok {
		most.Fuel, most.MemoryMiB = cmp.Or(t.Limits.Fuel, most.Fuel), cmp.Or(t.Limits.MemoryMiB, most.MemoryMiB)
	}
	var p fault.Problems
	p.Check(o.Fuel <= most.Fuel && (o.Fuel == 0 || o.Fuel >= 1000), "limits.fuel", o.Fuel, fmt.Sprintf("ask for 1000 to %d", most.Fuel))
	p.Check(o.MemoryMiB >= 0 && o.MemoryMiB <= most.MemoryMiB, "limits.memory_mib", o.MemoryMiB, fmt.Sprintf("ask for 1 to %d", most.MemoryMiB))
	p.Check(o.WallClock >= 0 && o.WallClock <= most.WallClock, "limits.wall_clock", o.WallClock, fmt.Sprintf("ask for at most %s", most.WallClock))
	if len(p) > 0 {
		return shape{}, errors.Join(p...)
	}
	k := shape{fuel: cmp.Or(o.Fuel, min(s.config.Fuel, most.Fuel)), memoryMiB: cmp.Or(o.MemoryMiB, min(s.config.MemoryMiB, most.MemoryMiB)), wallClock: o.WallClock}
	if k.wallClock == 0 {
		k.wallClock = s.config.WallClock
		if times := float64(k.fuel) / float64(s.config.Fuel); times > 1 {
			k.wallClock = min(time.Duration(float64(k.wallClock)*times), most.WallClock)
		}
	}
	return k, nil
}

// start makes a sandbox.
func (s *Sandboxes) start(ctx context.Context, k shape) (box, error) {
	cfg := s.config
	cfg.Fuel, cfg.MemoryMiB, cfg.WallClock = k.fuel, k.memoryMiB, k.wallClock
	cfg.WorkerMiB = max(cfg.WorkerMiB, cfg.MemoryMiB+workerMiB)
	r, err := sandbox.New(ctx, cfg)
	return box{r}, err
}

// Load implements Loader.
func (s *Sandboxes) Load(ctx context.Context, name, path string, o Options) (Reward, error) {
	k, err := s.shape(name, o)
	if err != nil {
		return nil, err
	}
	b, err := s.pool.Take(ctx, Key{Tenant: name, Options: fmt.Sprint(k)}, func(ctx context.Context) (box, error) { return s.start(ctx, k) })
	if err != nil {
		return nil, err
	}
	m, err := s.open(ctx, name, b.Value.Runtime, sandbox.Reference{Path: path, Function: o.Function, With: o.With, Batch: o.Batch})
	if err != nil {
		s.pool.Release(b)
		return nil, err
	}
	return &opened{m, func() { s.pool.Release(b) }}, nil
}

// open opens a reward in the tenant's turn, if there is one by this name: a start
// may compute for long. It says everything that is wrong with a module, where
// loading it stops at the first.
func (s *Sandboxes) open(ctx context.Context, name string, r *sandbox.Runtime, ref sandbox.Reference) (*sandbox.Module, error) {
	if t, ok := s.registry.Get(name); ok {
		done, err := s.scheduler.Turn(ctx, t)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	m, err := r.LoadReference(ctx, ref)
	if f := fault.As(err); f != nil && f.Kind == fault.Refused && filepath.Ext(ref.Path) == ".wasm" {
		if x, failed := sandbox.Inspect(ref.Path, r.Config().Limits); failed == nil && x.Err() != nil {
			err = x.Err()
		}
	}
	return m, err
}

// opened is an open reward in its sandbox.
type opened struct {
	*sandbox.Module
	leave func()
}

// manifest is a manifest, and whether the reward as it was opened compares: of a
// script that is one function's matter.
type manifest struct {
	sandbox.Manifest
	Group   bool             `json:"group"`
	Refused []reward.Refusal `json:"refused,omitempty"`
}

// Manifest implements Reward.
func (o *opened) Manifest() any {
	return manifest{o.Module.Manifest(), o.Info().Group, o.Info().Refused}
}

// Close implements Reward.
func (o *opened) Close(ctx context.Context) {
	o.Module.Close(ctx)
	o.leave()
}
