package train

import "github.com/merit-rl/merit/core/run"

// Reporter is told how far a run is. Its methods are called from one
// goroutine at a time and must return quickly.
type Reporter interface {
	// Collecting: done of total episodes of the running iteration or
	// evaluation are finished. What names it: "train", "validation",
	// "test baseline", "test trained", …
	Collecting(what string, done, total int)
	// Evaluated: an evaluation is finished.
	Evaluated(what string, score run.Score)
	// Iterated: an iteration of at most total is finished.
	Iterated(it run.Iteration, total int)
}

// Quiet is a Reporter that says nothing.
type Quiet struct{}

// Collecting does nothing.
func (Quiet) Collecting(string, int, int) {}

// Evaluated does nothing.
func (Quiet) Evaluated(string, run.Score) {}

// Iterated does nothing.
func (Quiet) Iterated(run.Iteration, int) {}
