// Package limits holds the limits of an evaluation and a module, for the internal
// packages of the sandbox.
package limits

import "time"

// Limits has the same fields as sandbox.Limits, which documents them. The
// compiler checks that they match, because the one is converted to the other.
type Limits struct {
	Fuel                                uint64
	MemoryMiB, TableEntries             int
	ModuleMiB, InputMiB                 int
	OutputKiB, LogKiB, Steps, CallDepth int
	WallClock                           time.Duration
	StartFuel                           uint64
	StartWallClock                      time.Duration
	ScriptMiB                           int
}
