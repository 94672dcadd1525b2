package local

import (
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/interpreter"
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
	return engine.Budget{Fuel: fuel, Depth: m.backend.Depth(m.by), Wall: l.WallClock}
}

// mostInterpretedDepth keeps two interpreted instances, one of which calls the other, within
// Go's limit of 512 MiB for a stack.
const mostInterpretedDepth = 50_000

// Depth returns how deep calls may nest in an interpreter, or in a module if it is the zero
// value.
func (b *Backend) Depth(i interpreter.Interpreter) uint64 {
	depth := uint64(b.options.CallDepth * max(i.Depth, 1))
	if b.options.Interpreter {
		return min(depth, mostInterpretedDepth)
	}
	return depth
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
