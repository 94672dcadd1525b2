// Package engine runs metered modules on wazero. It compiles them, stores programs
// and states in a private cache, instantiates, calls, snapshots and restores them,
// and provides the few host functions that every module may use. Only this package
// uses wazero. It knows nothing about rewards.
//
// Its subpackages are memory (the guests' memory), wasi (the system interface of
// guests), fork (states between two calls, to return to) and cache (the cache on disk).
package engine
