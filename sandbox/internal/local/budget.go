package local

import (
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

const (
	inputStep  = 128 << 10 // input that the plain budget is for, in bytes
	inputScale = 16
)

// budget is what an evaluation may use.
func (m *Module) budget(input, members int) engine.Budget {
	l := &m.backend.options.Limits
	fuel := l.Fuel * uint64(max(members, 1))
	if input > inputStep*max(members, 1) {
		fuel = min(l.Fuel/inputStep*uint64(input), fuel*inputScale)
	}
	return engine.Budget{Fuel: fuel, Depth: uint64(l.CallDepth), Wall: l.WallClock}
}

// startBudget is what the start of an instance may use. That of a script, and
// of what brings its own warm-up, may take more than an evaluation: an
// interpreter boots, packages are imported, tables are filled.
func (m *Module) startBudget() engine.Budget {
	b := m.budget(0, 1)
	if l := &m.backend.options.Limits; m.longStart() {
		b.Fuel, b.Wall = max(b.Fuel, l.StartFuel), max(b.Wall, l.StartWallClock)
	}
	return b
}

func (m *Module) longStart() bool { return m.script || m.manifest.WarmUp == abi.WarmUpOwn }
