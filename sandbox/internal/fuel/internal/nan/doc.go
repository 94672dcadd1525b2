// Package nan finds where a function has to make NaNs canonical.
//
// WebAssembly leaves open which NaN an arithmetic instruction yields: its sign and its payload differ between processors, and between
// engines on one processor. The deterministic profile of WebAssembly 3.0 takes the choice away: an arithmetic instruction that yields
// a NaN yields the positive one with the quiet bit alone. This package finds the instructions after which the meter must write that
// down. What only moves bits, such as a load, a constant or neg, keeps them, as it must.
//
// Few results need it. The bits of a NaN cannot be seen in what is added, compared or converted; they can in what is stored, returned,
// passed, reinterpreted or taken apart. So the walk follows every float through operand stack, blocks and locals, and asks of each
// arithmetic instruction whether its bits can reach a place where they are seen. Where a local holds nothing but such results, what is
// read of it may be made canonical instead of what is written: a sum in a loop is then made canonical once, behind the loop.
package nan
