package local

import "github.com/merit-rl/merit/sandbox/internal/engine"

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

// The start of a script may take more than an evaluation: an interpreter
// boots, and packages are imported.
const (
	startFuel = 20
	startWall = 6
)

// startBudget is what the start of an instance may use.
func (m *Module) startBudget() engine.Budget {
	b := m.budget(0, 1)
	if m.script {
		b.Fuel, b.Wall = b.Fuel*startFuel, b.Wall*startWall
	}
	return b
}
