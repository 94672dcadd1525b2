// Package sandbox runs reward functions that nobody has to trust: WebAssembly
// modules with deterministic fuel, no ambient authority, a fresh state for
// every evaluation and a closed set of outcomes. A Module implements
// reward.Scorer and reward.GroupScorer.
//
// It imports core/rl, core/fault, core/reward and what lies below it; wazero
// stays behind sandbox/internal/engine.
package sandbox
