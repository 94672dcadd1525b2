// Package telemetry reports the progress of a run: it converts an iteration to named
// numbers, and passes reports on. The subpackages write them: eventfile for TensorBoard,
// exporter for Prometheus.
package telemetry

import (
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// Fan is a reporter that calls each of its reporters in order.
type Fan []train.Reporter

// Began calls the reporters that implement it.
func (f Fan) Began(history []run.Iteration, total int) {
	for _, r := range f {
		if b, ok := r.(train.Beginner); ok {
			b.Began(history, total)
		}
	}
}

// Collecting calls all reporters.
func (f Fan) Collecting(what string, done, total int) {
	for _, r := range f {
		r.Collecting(what, done, total)
	}
}

// Evaluated calls all reporters.
func (f Fan) Evaluated(what string, score run.Score) {
	for _, r := range f {
		r.Evaluated(what, score)
	}
}

// Iterated calls all reporters.
func (f Fan) Iterated(it run.Iteration, total int) {
	for _, r := range f {
		r.Iterated(it, total)
	}
}
