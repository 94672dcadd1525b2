package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/merit-rl/merit/sandbox"
)

// roomKey is what a sandbox is made for.
type roomKey struct {
	tenant    string
	fuel      uint64
	memoryMiB int
	wallClock time.Duration
}

// room is a sandbox with what is open in it.
type room struct {
	key     roomKey
	runtime *sandbox.Runtime
	err     error
	ready   chan struct{} // closed when runtime or err is there
	users   int           // rewards, and those that are being opened
	unused  *time.Timer   // closes it when it has had no user for a while
}

// key holds what a request asks for to what its tenant and the server allow.
func (l *loader) key(name string, o library.Options) (roomKey, error) {
	var limits tenant.Limits
	if name != "" {
		limits = l.limits(name)
	}
	most := Most{Fuel: l.most.Fuel, MemoryMiB: l.most.MemoryMiB, WallClock: l.most.WallClock}
	if limits.Fuel > 0 {
		most.Fuel = limits.Fuel
	}
	if limits.MemoryMiB > 0 {
		most.MemoryMiB = limits.MemoryMiB
	}
	var p fault.Problems
	if o.Fuel > most.Fuel || o.Fuel > 0 && o.Fuel < 1000 {
		p.Check(false, "limits.fuel", o.Fuel, fmt.Sprintf("ask for 1000 to %d", most.Fuel))
	}
	if o.MemoryMiB > most.MemoryMiB || o.MemoryMiB < 0 {
		p.Check(false, "limits.memory_mib", o.MemoryMiB, fmt.Sprintf("ask for 1 to %d", most.MemoryMiB))
	}
	if o.WallClock > most.WallClock || o.WallClock < 0 {
		p.Check(false, "limits.wall_clock", o.WallClock, fmt.Sprintf("ask for at most %s", most.WallClock))
	}
	if len(p) > 0 {
		return roomKey{}, errors.Join(p...)
	}
	k := roomKey{tenant: name, fuel: cmp.Or(o.Fuel, min(l.config.Fuel, most.Fuel)), memoryMiB: cmp.Or(o.MemoryMiB, min(l.config.MemoryMiB, most.MemoryMiB)), wallClock: o.WallClock}
	if k.wallClock == 0 {
		k.wallClock = l.config.WallClock
		if times := float64(k.fuel) / float64(l.config.Fuel); times > 1 {
			k.wallClock = min(time.Duration(float64(k.wallClock)*times), most.WallClock)
		}
	}
	return k, nil
}

// enter gives the sandbox for k, which it makes if need be. Leave gives it back.
func (l *loader) enter(ctx context.Context, k roomKey) (*room, error) {
	l.mu.Lock()
	r := l.rooms[k]
	if r == nil {
		if err := l.makeRoom(ctx, k.tenant); err != nil {
			l.mu.Unlock()
			return nil, err
		}
		r = &room{key: k, ready: make(chan struct{})}
		l.rooms[k] = r
		go l.start(context.WithoutCancel(ctx), r)
	}
	r.users++
	if r.unused != nil {
		r.unused.Stop()
	}
	l.mu.Unlock()
	select {
	case <-r.ready:
	case <-ctx.Done():
		l.leave(ctx, r)
		return nil, context.Cause(ctx)
	}
	if r.err != nil {
		l.leave(ctx, r)
		return nil, r.err
	}
	return r, nil
}

// start makes the sandbox of r.
func (l *loader) start(ctx context.Context, r *room) {
	cfg := l.config
	cfg.Fuel, cfg.MemoryMiB, cfg.WallClock = r.key.fuel, r.key.memoryMiB, r.key.wallClock
	cfg.WorkerMiB = max(cfg.WorkerMiB, cfg.MemoryMiB+workerMiB)
	r.runtime, r.err = sandbox.New(ctx, cfg)
	if r.err != nil { // the next one tries again
		l.mu.Lock()
		delete(l.rooms, r.key)
		l.mu.Unlock()
	}
	close(r.ready)
}

// makeRoom closes a sandbox that nobody uses if the tenant has as many as it
// may. The caller holds mu.
func (l *loader) makeRoom(ctx context.Context, name string) error {
	var spare *room
	count := 0
	for k, r := range l.rooms {
		if k.tenant != name {
			continue
		}
		if count++; r.users == 0 {
			spare = r
		}
	}
	if count < l.sandboxes {
		return nil
	}
	if spare == nil {
		return &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Exhausted, Where: "limits", Retry: true, What: fmt.Sprintf("rewards are open with %d different limits, which is as many as may be", l.sandboxes),
			Hint: "ask for the same limits in all requests",
		}
	}
	l.remove(ctx, spare)
	return nil
}

// remove closes a sandbox that nobody uses. The caller holds mu.
func (l *loader) remove(ctx context.Context, r *room) {
	if l.rooms[r.key] == r {
		delete(l.rooms, r.key)
	}
	if r.unused != nil {
		r.unused.Stop()
	}
	if r.runtime != nil {
		go r.runtime.Close(context.WithoutCancel(ctx))
		r.runtime = nil
	}
}

// leave is the end of one use.
func (l *loader) leave(ctx context.Context, r *room) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.users--; r.users > 0 || r.err != nil {
		return
	}
	r.unused = time.AfterFunc(roomIdle, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if r.users == 0 {
			l.remove(ctx, r)
		}
	})
}
