package cli

import (
	"fmt"

	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// trainProgress shows a run: one bar over the iterations, and a line for each
// evaluation.
type trainProgress struct {
	bar   *ui.Progress
	done  int // finished iterations
	begun int // iteration under way
	note  string
}

func newTrainProgress(h *Host, iterations int) *trainProgress {
	return &trainProgress{bar: h.progress("train", "iterations", int64(iterations))}
}

func (p *trainProgress) close() { p.bar.Close() }

// Collecting shows evaluations, whose episodes take longer than an iteration.
func (p *trainProgress) Collecting(what string, done, total int) {
	if what == train.SplitTrain {
		p.bar.Set(int64(p.done), p.note)
		return
	}
	p.bar.Set(int64(p.done), fmt.Sprintf("%s %d/%d", what, done, total))
}

// Evaluated prints a line.
func (p *trainProgress) Evaluated(what string, s run.Score) {
	if what == train.SplitValidation {
		what = fmt.Sprintf("iteration %d", p.begun)
	}
	p.bar.Line(fmt.Sprintf("%-20s  success %s [%.1f, %.1f]  return %.3f  length %.1f", what, percent(s.Success), 100*s.SuccessInterval[0], 100*s.SuccessInterval[1], s.Return, s.Length))
}

// Iterated moves the bar.
func (p *trainProgress) Iterated(it run.Iteration, _ int) {
	p.done, p.begun = it.Iteration, it.Iteration+1
	if it.Rollout != nil {
		p.note = fmt.Sprintf("success %s return %.3f", percent(it.Rollout.Success), it.Rollout.Return)
	}
	if it.Update != nil {
		p.note += fmt.Sprintf(" KL %.4f H %.3f", it.Update.KL, it.Update.Entropy)
	}
	if it.Time.StepsPerSecond > 0 {
		p.note += fmt.Sprintf(" %.0f steps/s", it.Time.StepsPerSecond)
	}
	p.bar.Set(int64(p.done), p.note)
}
