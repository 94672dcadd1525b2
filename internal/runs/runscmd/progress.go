package runscmd

import (
	"fmt"
	"sync"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/runs/live"
	"github.com/merit-rl/merit/sdk/merit"
)

// sessionProgress shows the progress of a session: a bar over the iterations of a run, one for
// each final evaluation, and a line for each finished evaluation; for a rollout, a bar over
// its episodes.
type sessionProgress struct {
	host  *console.Host
	dir   string // of the run, if it is one
	bar   *terminal.Progress
	what  string // label of the bar
	done  int    // finished iterations
	begun int    // current iteration
	note  string
}

// newTrainProgress shows the run in dir: curves on a terminal, lines elsewhere. The function end leaves
// the last state on the screen. Other output of the host scrolls by above.
func newTrainProgress(h *console.Host, cfg *merit.Config, dir string) (p train.Reporter, end func()) {
	if !h.Animated() {
		p := newProgress(h, train.SplitTrain, "iterations", cfg.Train.Iterations)
		p.dir = dir
		return p, p.close
	}
	stderr := h.Stderr
	v := live.NewView(live.Options{Out: stderr, Size: h.StderrSize, Style: h.ErrStyle(), Now: h.Now, Total: cfg.Train.Iterations, Steps: cfg.Train.EnvSteps})
	h.Stderr = v
	return liveProgress{v, dir}, sync.OnceFunc(func() { v.Close(); h.Stderr = stderr })
}

// liveProgress prints lines above the curves.
type liveProgress struct {
	*live.View
	dir string // of the run
}

// Evaluated prints a line for the final evaluations; a validation is a point of its curve.
func (p liveProgress) Evaluated(what string, s run.Score) {
	if what != train.SplitValidation {
		fmt.Fprintln(p, evaluationText(what, s))
	}
}

// Iterated prints alarms; the curves show the rest.
func (p liveProgress) Iterated(it run.Iteration, total int) {
	p.View.Iterated(it, total)
	for _, a := range it.Alarms {
		fmt.Fprintln(p, live.Alarm(p.dir, a))
	}
}

// newProgress shows the progress of total units of work; what is a split or the name of an
// evaluation or rollout.
func newProgress(h *console.Host, what, unit string, total int) *sessionProgress {
	return &sessionProgress{host: h, bar: h.Progress(what, unit, int64(total)), what: what}
}

func (p *sessionProgress) close() { p.bar.Close() }

// Collecting shows the progress of evaluations, whose episodes take longer than an iteration.
func (p *sessionProgress) Collecting(what string, done, total int) {
	switch what {
	case train.SplitTrain:
		p.bar.Set(int64(p.done), p.note)
	case train.SplitValidation:
		p.bar.Set(int64(p.done), fmt.Sprintf("%s %d/%d", what, done, total))
	default:
		if what != p.what {
			p.bar.Close()
			p.bar, p.what = p.host.Progress(what, "episodes", int64(total)), what
		}
		p.bar.Set(int64(done), "")
	}
}

// Evaluated prints a line.
func (p *sessionProgress) Evaluated(what string, s run.Score) {
	if what == train.SplitValidation {
		what = fmt.Sprintf("iteration %d", p.begun)
	}
	p.bar.Line(evaluationText(what, s))
}

func evaluationText(what string, s run.Score) string {
	name, share, interval := s.Leading()
	return fmt.Sprintf("%-20s  %s %s [%.1f, %.1f]  return %.3f  length %.1f", what,
		name, terminal.Percent(share), 100*interval[0], 100*interval[1], s.Return, s.Length)
}

// Iterated moves the bar.
func (p *sessionProgress) Iterated(it run.Iteration, _ int) {
	p.done, p.begun = it.Iteration, it.Iteration+1
	for _, a := range it.Alarms {
		p.bar.Line(live.Alarm(p.dir, a))
	}
	p.note = ""
	if it.Rollout != nil {
		p.note = fmt.Sprintf("success %s  return %.2f", terminal.Percent(it.Rollout.Success), it.Rollout.Return)
		if n := it.Rollout.StaleGroups; n > 0 {
			p.note += fmt.Sprintf("  %d stale groups dropped", n)
		}
	}
	if it.Update != nil {
		p.note += fmt.Sprintf("  KL %.3f  entropy %.2f", it.Update.KL, it.Update.Entropy)
	}
	switch rate := it.Time.StepsPerSecond; {
	case rate >= 1000:
		p.note += fmt.Sprintf("  %.0fk steps/s", rate/1000)
	case rate > 0: // a step of a language model takes seconds
		p.note += fmt.Sprintf("  %.1f steps/s", rate)
	}
	p.bar.Set(int64(p.done), p.note)
}
