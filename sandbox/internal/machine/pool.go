package machine

import (
	"context"
	"errors"
	"sync"

	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// pool keeps instances of a program in the state after its start. It is safe for concurrent
// use.
type pool struct {
	program *engine.Program
	limits  Limits
	depth   uint64
	born    *engine.State

	mu   sync.Mutex
	idle []*engine.Instance
}

// boot starts the first instance with a function and keeps the state after it.
func (p *pool) boot(ctx context.Context, t *engine.Table, function string) (stop *engine.Stop, err error) {
	i, err := p.program.Instantiate(ctx, p.limits.Memory)
	if err != nil {
		return nil, err
	}
	i.Attach(t)
	b := p.budget()
	b.Fuel = p.limits.Start
	i.Begin(ctx, b)
	_, stop = i.Call(i.Func(function))
	if _, late := i.End(); late != nil {
		stop = late
	}
	if stop == nil || stop.Kind == engine.Exited {
		p.born, err = i.Snapshot()
	}
	if p.born == nil || err != nil {
		i.Close()
		return stop, err
	}
	p.put(i)
	return stop, nil
}

func (p *pool) budget() engine.Budget {
	return engine.Budget{Fuel: p.limits.Fuel, Depth: p.depth, Wall: p.limits.Wall}
}

// close frees the program; nothing may run.
func (p *pool) close() {
	for _, i := range p.idle {
		i.Close()
	}
	if p.born != nil {
		p.born.Close()
	}
	p.program.Close(context.Background())
}

// get returns an instance in the state after the start.
func (p *pool) get(ctx context.Context) (*engine.Instance, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		i := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return i, nil
	}
	p.mu.Unlock()
	i, err := p.program.Instantiate(ctx, p.limits.Memory)
	if err != nil {
		return nil, err
	}
	if err := i.Adopt(p.born); err != nil {
		i.Close()
		return nil, errors.Join(errBorn, err)
	}
	return i, nil
}

var errBorn = errors.New("an instance cannot take the state after the start")

// put takes an instance back.
func (p *pool) put(i *engine.Instance) {
	i.Host, i.Channel = nil, nil
	i.Attach(nil)
	if err := i.Restore(); err != nil {
		i.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, i)
}
