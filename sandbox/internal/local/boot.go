package local

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
)

// booted is the state of an interpreter after the part of its start that is the same for
// all scripts, and the fuel of that part, which counts for every start.
type booted struct {
	origin
	fuel uint64
}

// boots holds the booted interpreters of a backend, by bootName.
type boots struct {
	mu    sync.Mutex
	known map[string]*booted
}

func (s *boots) get(name string) *booted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[name]
}

// put returns the boot with a name: of two, the first stays.
func (s *boots) put(name string, b *booted) *booted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.known[name]; first != nil {
		b.state.Close()
		return first
	}
	if s.known == nil {
		s.known = map[string]*booted{}
	}
	s.known[name] = b
	return b
}

func (s *boots) close() {
	for _, b := range s.known {
		b.state.Close()
	}
}

// boot brings the instance to the state after the first part of the start, if the start has
// two, and returns the fuel of that part. An earlier start may have kept the state, in this
// process or in the cache; it is the same.
func (w *worker) boot(ctx context.Context, budget engine.Budget) (fuel uint64, stop *engine.Stop, err error) {
	m := w.module
	g, ok := w.guest.(profile.Booter)
	if !ok || m.process.Boot == nil {
		return 0, nil, nil
	}
	name := m.bootName()
	known := m.backend.boots.get(name)
	if known == nil && m.program.Restorable() {
		if known = m.recallBoot(name); known != nil {
			known = m.backend.boots.put(name, known)
		}
	}
	if known != nil {
		return known.fuel, overBudget(known.fuel, budget), w.adopt(&known.origin)
	}
	w.instance.Enter(m.process.Boot)
	fuel, stop = w.within(ctx, budget, g.Boot)
	w.instance.Enter(&m.program.Process)
	if stop != nil || !m.program.Restorable() {
		return fuel, stop, nil
	}
	state, err := w.instance.Snapshot()
	if err != nil {
		return fuel, nil, err
	}
	kept := m.backend.boots.put(name, &booted{origin{state, g.Memo()}, fuel})
	m.keepBoot(name, kept)
	return fuel, nil, w.adopt(&kept.origin)
}

// within makes a call of the guest on a budget, and returns the fuel that it used.
func (w *worker) within(ctx context.Context, budget engine.Budget, call func() *engine.Stop) (fuel uint64, stop *engine.Stop) {
	w.collector.Start(nil, false)
	w.instance.Begin(ctx, budget)
	stop = call()
	fuel, late := w.instance.End()
	if late != nil {
		stop = late
	}
	return fuel, stop
}

// overBudget is how a start ends whose first part alone uses more than its budget.
func overBudget(fuel uint64, budget engine.Budget) *engine.Stop {
	if fuel > budget.Fuel {
		return &engine.Stop{Kind: engine.OutOfFuel}
	}
	return nil
}

// bootName names everything that determines the state after a boot, apart from Merit itself.
func (m *Module) bootName() string {
	l := m.backend.options.Limits
	return fmt.Sprintf("boot %s %x %d %d", m.program.Key(), m.process.Boot.Sum(), l.MemoryMiB, l.CallDepth)
}

// keepBoot caches a boot.
func (m *Module) keepBoot(name string, b *booted) {
	if pieces, ok := b.pieces(); ok {
		fuel := binary.LittleEndian.AppendUint64(nil, b.fuel)
		m.backend.engine.Keep(name, append([][]byte{fuel}, pieces...)...)
	}
}

// recallBoot returns the boot that an earlier process cached, or nil.
func (m *Module) recallBoot(name string) (b *booted) {
	m.backend.engine.Recall(name, func(data []byte) {
		if len(data) < 8 {
			return
		}
		if o := parseOrigin(data[8:]); o != nil {
			b = &booted{*o, binary.LittleEndian.Uint64(data)}
		}
	})
	return b
}
