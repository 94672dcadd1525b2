// Package telemetry tells others how a run goes: the figures of an iteration as
// named numbers, and reporters that pass them on. What writes them is below it:
// eventfile for TensorBoard, exporter for Prometheus.
package telemetry

import (
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// Fan is a reporter that tells every one of its reporters, in order.
type Fan []train.Reporter

// Began tells those that want to know.
func (f Fan) Began(history []run.Iteration, total int) {
	for _, r := range f {
		if b, ok := r.(train.Beginner); ok {
			b.Began(history, total)
		}
	}
}

// Collecting tells all.
func (f Fan) Collecting(what string, done, total int) {
	for _, r := range f {
		r.Collecting(what, done, total)
	}
}

// Evaluated tells all.
func (f Fan) Evaluated(what string, score run.Score) {
	for _, r := range f {
		r.Evaluated(what, score)
	}
}

// Iterated tells all.
func (f Fan) Iterated(it run.Iteration, total int) {
	for _, r := range f {
		r.Iterated(it, total)
	}
}
