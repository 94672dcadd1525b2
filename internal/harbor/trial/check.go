package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// Report is what a check of a task found.
type Report struct {
	Task   string       `json:"task"`
	Path   string       `json:"path"`
	Digest string       `json:"digest,omitempty"`
	Runs   bool         `json:"runs"`
	Needs  []image.Need `json:"needs"`
	Unused []image.Need `json:"unused,omitempty"`
	Notes  []string     `json:"notes,omitempty"`
	// Oracle and Nop are the rewards of the two agents; null without one.
	Oracle *float64 `json:"oracle"`
	Nop    *float64 `json:"nop"`
	// Same means that each agent was run twice, with the same bytes.
	Same bool `json:"same"`
	// Start is how long a box takes to start and to run a first command, in milliseconds; Fuel is that of the dearest trial.
	Start    float64  `json:"start_ms,omitempty"`
	Fuel     uint64   `json:"fuel,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

// Passed reports whether a task runs, and nothing is wrong with it.
func (r *Report) Passed() bool { return r.Runs && len(r.Problems) == 0 }

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Checker checks tasks. It is safe for concurrent use.
type Checker struct {
	Maker     box.Maker
	Inventory *image.Inventory
	// Static reads tasks without running them.
	Static bool
	// Most and Least are the rewards that the solution and an agent that does nothing get.
	Most, Least float64
	// Reward names the reward, of a verifier that gives several.
	Reward string
}

// Check checks the task in a folder. An error is one of ctx.
func (c *Checker) Check(ctx context.Context, dir string) (*Report, error) {
	r := &Report{Task: dir, Path: dir, Needs: []image.Need{}}
	t, err := task.Load(dir)
	if err != nil {
		r.problem("%v", err)
		return r, nil
	}
	r.Task, r.Digest = t.Name, t.Digest
	for _, key := range t.Config.Unknown {
		r.Notes = append(r.Notes, "task.toml: "+key+" is not a key of the format, and has no effect")
	}
	for _, note := range t.Config.Notes {
		r.Notes = append(r.Notes, "task.toml: "+note)
	}
	e, err := image.Examine(t, c.Inventory)
	if err != nil {
		r.problem("%v", err)
		return r, nil
	}
	r.Needs, r.Unused, r.Notes = append(r.Needs, e.Needs...), e.Unused, append(r.Notes, e.Notes...)
	if r.Runs = len(r.Needs) == 0; !r.Runs || c.Static {
		return r, nil
	}
	p, err := Prepare(ctx, c.Maker, t)
	if err != nil {
		r.Runs = false
		r.Needs = append(r.Needs, image.Need{Kind: image.Broken, Name: "environment", Where: "environment/Dockerfile", Why: err.Error()})
		return r, ctx.Err()
	}
	defer p.Close()
	if err := c.play(ctx, p, r); err != nil && ctx.Err() == nil {
		r.problem("the machine fails: %v", err) // this task's fault, such as a full disk
	}
	return r, ctx.Err()
}

// play runs both agents twice.
func (c *Checker) play(ctx context.Context, p *Prepared, r *Report) error {
	began := time.Now()
	s, err := p.Begin(ctx)
	if err == nil {
		_ = s.Run(ctx, "true")
		r.Start = float64(time.Since(began).Microseconds()) / 1000
		_ = s.Close()
	}
	r.Same = true
	if r.Nop, err = c.agent(ctx, p, Nop, r); err != nil {
		return err
	}
	if r.Nop != nil && *r.Nop != c.Least {
		r.problem("an agent that does nothing gets %v, not %v", *r.Nop, c.Least)
	}
	if !p.Task.Solved() {
		r.Notes = append(r.Notes, "there is no solution/solve.sh, so that nothing shows that the task can be solved")
		return nil
	}
	if r.Oracle, err = c.agent(ctx, p, Oracle, r); err != nil {
		return err
	}
	if r.Oracle != nil && *r.Oracle != c.Most {
		r.problem("the solution gets %v, not %v", *r.Oracle, c.Most)
	}
	return nil
}

// agent runs an agent twice, and returns its reward if it has one.
func (c *Checker) agent(ctx context.Context, p *Prepared, agent string, r *Report) (*float64, error) {
	first, err := p.Run(ctx, agent, time.Now)
	if err != nil {
		return nil, err
	}
	again, err := p.Run(ctx, agent, time.Now)
	if err != nil {
		return nil, err
	}
	r.Fuel = max(r.Fuel, first.Fuel)
	for _, f := range first.Flags {
		r.Notes = append(r.Notes, agent+": "+f.String())
	}
	if first.Digest != again.Digest || first.Fuel != again.Fuel {
		r.Same = false
		r.problem("%s differs when it runs again: %s", agent, difference(first, again))
	}
	if first.Failure != nil {
		r.problem("%s has no reward: %v", agent, first.Failure)
		return nil, nil
	}
	reward, failed := Main(first.Rewards, c.Reward)
	if failed != nil {
		r.problem("%s has no reward: %v", agent, failed)
		return nil, nil
	}
	return &reward, nil
}

// difference says in what two trials differ.
func difference(a, b *Result) string {
	for i := range min(len(a.Steps), len(b.Steps)) {
		x, y := a.Steps[i], b.Steps[i]
		switch {
		case string(x.Agent) != string(y.Agent):
			return "in the output of the agent"
		case string(x.Verdict.Output) != string(y.Verdict.Output):
			return "in the output of the verifier"
		}
	}
	return fmt.Sprintf("in the files of the verifier or in the fuel, %d and %d", a.Fuel, b.Fuel)
}
