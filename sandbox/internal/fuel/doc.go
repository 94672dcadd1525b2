// Package fuel makes WebAssembly modules safe to run without trust: a gate that refuses what can hurt the compiler or the host, and
// a meter that rewrites a module so that it counts what it executes. It works on bytecode alone.
//
// Below it lie the binary format (internal/binary), the gate (internal/gate), the promoter (internal/promote) and the search for NaNs
// (internal/nan); the meter is here.
//
// # The gate
//
// Inspect reads the whole of WebAssembly core 2.0 (bulk memory, reference types, sign extension, saturating conversion, multi-value,
// SIMD) and reports every problem at once, with its place and the limit that would admit it. It trusts no declared count, checks
// every index against the module as it came (appending must not make an invalid module valid), and takes time and memory in
// proportion to the bytes it reads. It does not check operand types: validate the original with a runtime too.
//
// # The meter
//
// Instrument appends three mutable i64 globals, fuel, reserve and depth, and never renumbers anything but labels. Fuel is exact: a
// metered block is a set of instructions that run equally often, and its price is charged where it begins, so that a run that ends
// without a trap costs precisely the sum of its instructions. Fuel is checked lazily: at loop heads, at the entry of functions that
// call, at bulk instructions, and after 2,048 units without a check on any path (so exhaustion is noticed that late at most, times
// the frames that return meanwhile). It is the same for every engine and on every run from equal state. Where a run is cut short by
// a trap, blocks that had begun are charged whole; that, too, is the same everywhere.
//
// Calls of functions that call take depth, weighed by their locals and operands, and give it back when they return.
//
// Out of fuel and too deep are traps (unreachable). The host tells them from the guest's own: the sum of fuel and reserve, or depth, is
// below zero. A charge never exceeds 2^33 (2^48 with imported memories or tables) and is checked at once, so that the counters cannot
// wrap as long as the host sets them within ±2^61.
//
// # Slices
//
// A module never runs for long without passing through Go, where the scheduler can take the processor away: Go's garbage collector
// waits for code that it cannot preempt. What is left lies in two counters: fuel holds a slice, reserve the rest. A check that finds
// fuel below zero calls the helper refill, an appended function, which traps if the sum is below zero too, and else moves a slice and
// grows the memory by nothing: that goes through Go. Size of slices and place of refills change nothing but time; a price list and a
// limit speak of the sum. A watchdog sets the reserve far below zero, again and again until the call returns, because what the guest
// is about to write may overwrite it. It leaves fuel alone, which is a slice at most.
//
// A bulk memory instruction is one step however much it moves: helpers do it in chunks of what a slice pays for, with the bounds
// checked before the first. A module without a memory gets an empty one to grow.
//
// # NaNs
//
// WebAssembly leaves open which NaN an arithmetic instruction yields, and processors and engines differ in it. The meter makes it the
// canonical one, positive with the quiet bit alone, as the deterministic profile of WebAssembly 3.0 has it, wherever its bits can be
// seen: in what is stored, returned, passed or reinterpreted. What only moves bits, such as a load, neg or copysign, keeps them.
// internal/nan finds the places. The instructions for it are not charged: a price counts what the author wrote. At worst, in a loop
// that computes a float and stores it, they cost a third more time.
//
// # Promotion
//
// Promote makes code that was compiled without optimisation cheaper before it is metered: variables whose address is never taken
// leave the memory. It is for the interpreters that scripts run on; a user's module is metered as it came.
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
// A start section becomes an exported function, StartExport: instantiation would run it before the host can set fuel.
//
// Growth is not undone. The instrumented module declares its limits as maxima, so that growth ends there whatever the runtime's
// settings; a host that restores snapshots compares the size of the memory after a call and discards an instance that has grown.
// Info.SnapshotBlockers tells which modules need a fresh instance every time.
//
// Debug sections and source maps are dropped, the name section stays valid and is kept.
package fuel
