package local

import (
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

const (
	inputStep  = 128 << 10 // bytes of input that the basic budget covers
	inputScale = 16
)

// budget returns the budget of an evaluation.
func (m *Module) budget(input, members int) engine.Budget {
	l := &m.backend.options.Limits
	fuel := l.Fuel * uint64(max(members, 1))
	if input > inputStep*max(members, 1) {
		fuel = min(l.Fuel/inputStep*uint64(input), fuel*inputScale)
	}
	return engine.Budget{Fuel: fuel, Depth: uint64(l.CallDepth), Wall: l.WallClock}
}

// startBudget returns the budget for the start of an instance. The start of a
// script, and of a module with its own warm-up, may take more than an
// evaluation: an interpreter boots, packages are imported, tables are filled.
func (m *Module) startBudget() engine.Budget {
	b := m.budget(0, 1)
	if l := &m.backend.options.Limits; m.longStart() {
		b.Fuel, b.Wall = max(b.Fuel, l.StartFuel), max(b.Wall, l.StartWallClock)
	}
	return b
}

func (m *Module) longStart() bool { return m.script || m.manifest.WarmUp == abi.WarmUpOwn }
