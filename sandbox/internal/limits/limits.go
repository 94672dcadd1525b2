// Package limits holds what bounds an evaluation and a module, for the rooms
// of the sandbox.
package limits

import "time"

// Limits are sandbox.Limits, which says what each field bounds; the compiler
// holds the two together where the one becomes the other.
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
