// Package fuel makes WebAssembly modules safe to run without trust: a gate
// rejects what can harm the compiler or the host, and a meter rewrites a module
// so that it counts what it executes. Both work on bytecode alone.
//
// Subpackages implement the binary format (internal/binary), the gate
// (internal/gate), the promoter (internal/promote) and the search for NaNs
// (internal/nan); the meter is in this package.
//
// # The gate
//
// Inspect reads all of WebAssembly core 2.0 (bulk memory, reference types, sign
// extension, saturating conversion, multi-value, SIMD) and reports all problems
// at once, each with its place and the limit that would admit it. It trusts no
// declared count, checks every index against the original module (what the
// meter appends must not make an invalid module valid), and takes time and
// memory in proportion to the bytes that it reads. It does not check operand
// types: a runtime must validate the original module too.
//
// # The meter
//
// Instrument appends three mutable i64 globals, fuel, reserve and depth, and
// renumbers nothing but labels. Fuel is exact: a metered block is a set of
// instructions that run equally often, and its price is charged where it
// begins, so a run that ends without a trap costs exactly the sum of its
// instructions. Fuel is checked lazily: at loop heads, at the entry of
// functions that call, at bulk instructions, and after 2,048 units without a
// check on any path (so exhaustion is noticed at most that late, multiplied by
// the frames that return meanwhile). It is the same for every engine and for
// every run from the same state. If a trap stops a run, blocks that had begun
// are charged completely; that, too, is the same everywhere.
//
// Calls of functions that call take depth, weighed by their locals and
// operands, and give it back when they return.
//
// Out of fuel and too deep are traps (unreachable). The host distinguishes them
// from the guest's own: the sum of fuel and reserve, or depth, is below zero. A
// charge never exceeds 2^33 (2^48 with imported memories or tables) and is
// checked at once, so the counters cannot wrap as long as the host sets them
// within ±2^61.
//
// # Slices
//
// A module never runs for long without returning to Go, where the scheduler can
// preempt it: Go's garbage collector waits for code that it cannot preempt. Two
// counters hold the remaining fuel: fuel holds a slice, reserve the rest. If a
// check finds fuel below zero, it calls the helper refill, an appended
// function. refill traps if the sum is below zero too. Otherwise it moves a
// slice and grows the memory by nothing, which returns to Go. The size of
// slices and the place of refills affect only time; prices and limits apply to
// the sum. A watchdog sets the reserve far below zero, repeatedly until the
// call returns, because a write of the guest may undo it. It does not touch
// fuel, which is at most a slice.
//
// A bulk memory instruction is one step however much it moves. Helpers split it
// into chunks that a slice pays for, and check the bounds before the first. A
// module without a memory gets an empty one to grow.
//
// # NaNs
//
// WebAssembly does not define which NaN an arithmetic instruction yields, and
// CPUs and engines differ. The meter makes it the canonical one, positive with
// only the quiet bit set, as in the deterministic profile of WebAssembly 3.0,
// wherever its bits can be observed: in what is stored, returned, passed or
// reinterpreted. Instructions that only move bits, such as a load, neg or
// copysign, keep them. internal/nan finds the places. The added instructions
// are not charged: a price counts what the author wrote. In the worst case, a
// loop that computes a float and stores it, they add a third to the time.
//
// # Promotion
//
// Promote makes code that was compiled without optimization cheaper before it
// is metered: it moves variables whose address is never taken from memory to
// locals. It is for the interpreters that run scripts; a user's module is
// metered unchanged.
//
// # Price table
//
//	block, loop, else, end                         0
//	every other instruction, SIMD and calls too    1
//	ref.func (passes through the host)             256
//	entry of a function                            declared locals / 8
//	memory.fill, memory.copy, memory.init          32 + ⌈bytes / 8⌉
//	table.fill, table.copy, table.init             32 + entries
//	memory.grow                                    128 + 65,536 × pages, or 128 if the limit makes it fail
//	table.grow                                     128 + 8 × entries, or 128 if the limit makes it fail
//	call of a host function                        1 + what the host charges
//	depth of a call                                1 + (locals + operands) / 64, a v128 counting twice; 0 for functions without calls
//
// # Decisions
//
// A start section becomes an exported function, StartExport: instantiation
// would run it before the host can set fuel.
//
// Growth is not undone. The instrumented module declares its limits as maxima,
// so that growth stops there whatever the runtime's settings. A host that
// restores snapshots compares the size of the memory after a call and discards
// an instance that has grown. Info.SnapshotBlockers reports which modules need
// a fresh instance every time.
//
// Debug sections and source maps are dropped. The name section is kept and
// stays valid.
package fuel
