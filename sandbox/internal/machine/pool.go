package machine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

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

// boot starts the first instance with a function and keeps the state after it, and what the
// function printed. An earlier process may have kept both in the cache.
func (p *pool) boot(ctx context.Context, e *engine.Engine, files [32]byte, t *engine.Table, function string, said *sink) (stop *engine.Stop, err error) {
	name := fmt.Sprintf("machine %s %x %x %d %d", p.program.Key(), p.program.Process.Sum(), files, p.limits.Memory, startFuel)
	if e.Recall(name, func(kept []byte) { p.born, said.data = parseKept(kept) }); p.born != nil {
		return nil, nil
	}
	i, err := p.program.Instantiate(ctx, p.limits.Memory)
	if err != nil {
		return nil, err
	}
	i.Attach(t)
	i.Begin(ctx, p.budget(startFuel))
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
	if pieces, ok := p.born.Pieces(); ok && (stop == nil || stop.Code == 0) {
		head := append(binary.LittleEndian.AppendUint32(nil, uint32(len(said.data))), said.data...)
		e.Keep(name, append([][]byte{head}, pieces...)...)
	}
	p.put(i)
	return stop, nil
}

// parseKept reads what boot kept; it returns nil if it is damaged.
func parseKept(data []byte) (*engine.State, []byte) {
	if len(data) < 4 {
		return nil, nil
	}
	n := int(binary.LittleEndian.Uint32(data))
	if n > len(data)-4 {
		return nil, nil
	}
	state, err := engine.ParseState(data[4+n:])
	if err != nil {
		return nil, nil
	}
	return state, bytes.Clone(data[4 : 4+n])
}

// budget is that of a command with so much fuel; 0 is the limit of the machine. One that may use
// more of it may also take longer.
func (p *pool) budget(most uint64) engine.Budget {
	most = cmp.Or(most, p.limits.Fuel)
	wall := p.limits.Wall * time.Duration(max(1, most/p.limits.Fuel))
	return engine.Budget{Fuel: min(most, math.MaxInt64), Depth: p.depth, Wall: wall}
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
