// Package engine runs metered modules on wazero: it compiles them, keeps
// programs and states in a private cache, instantiates, calls, snapshots and
// restores them, and gives them the few host functions that are always there.
// It is the only door to wazero and knows nothing of rewards.
//
// Below it lie the guests' memory (memory), what they find around them (wasi)
// and the cache on disk (cache).
package engine
