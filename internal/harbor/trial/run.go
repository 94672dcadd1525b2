package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// The agents that need no model.
const (
	Oracle = "oracle" // runs the task's solution
	Nop    = "nop"    // does nothing
)

// Step is what happened in one stage of a trial.
type Step struct {
	Name    string             `json:"name,omitempty"`
	Rewards map[string]float64 `json:"rewards,omitempty"`
	Failure *Failure           `json:"failure,omitempty"`
	Flags   []Flag             `json:"red_flags,omitempty"`
	Agent   []byte             `json:"-"` // what the agent printed
	Verdict Verdict            `json:"-"`
}

// Result is a trial of an agent.
type Result struct {
	Agent   string
	Rewards map[string]float64
	Failure *Failure
	Steps   []Step
	Fuel    uint64
	// Flags are what the agent changed that its verifier relies on, of all steps.
	Flags []Flag
	// Digest covers everything that the agent and the verifier printed and wrote.
	Digest string
	// When the trial began, the agent ended, and the verifier ended; for people.
	Began, Acted, Ended time.Time
}

// Run runs an agent on a task. An error is a failure of the machine or of ctx; what is wrong
// with the task or the agent is a Failure.
func (p *Prepared) Run(ctx context.Context, agent string, now func() time.Time) (r *Result, err error) {
	r = &Result{Agent: agent, Began: now()}
	s, err := p.Begin(ctx)
	var failed *Failure
	if errors.As(err, &failed) {
		r.Failure, r.Acted, r.Ended = failed, now(), now()
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	sum := sha256.New()
	for more := true; more; {
		step, err := s.attempt(ctx, agent, func() { r.Acted = now() })
		if err != nil {
			return nil, err
		}
		step.sum(sum)
		r.Fuel += step.Verdict.Fuel
		r.Steps = append(r.Steps, step)
		if more, err = s.next(ctx, step); errors.As(err, &failed) {
			r.Failure, more = failed, false
		} else if err != nil {
			return nil, err
		}
	}
	r.Fuel += s.Fuel
	r.finish(s, hex.EncodeToString(sum.Sum(nil)), now())
	return r, nil
}

// attempt lets the agent work on the current stage, and the verifier judge it. It calls acted
// between the two.
func (s *Scene) attempt(ctx context.Context, agent string, acted func()) (step Step, err error) {
	step.Name = s.Current().Name
	if agent == Oracle {
		step.Agent, step.Failure = s.Solve(ctx)
	}
	acted()
	if step.Failure != nil {
		return step, ctx.Err()
	}
	step.Verdict, err = s.Verify(ctx)
	step.Rewards, step.Failure, step.Flags = step.Verdict.Rewards, step.Verdict.Failure, step.Verdict.Flags
	return step, err
}

// sum adds everything that the agent and the verifier printed and wrote to a digest.
func (s *Step) sum(w io.Writer) {
	fmt.Fprintf(w, "%q %q %q %q %v %v %q\n", s.Name, s.Agent, s.Verdict.Output, s.Verdict.Errors, s.Rewards, s.Failure, s.Flags)
	for _, f := range s.Verdict.Files {
		fmt.Fprintf(w, "%q %o %q\n", f.Path, f.Mode, f.Data)
	}
}

// next moves to the next stage, if the agent and the verifier came so far.
func (s *Scene) next(ctx context.Context, step Step) (bool, error) {
	if step.Failure != nil {
		return false, nil
	}
	return s.Advance(ctx, step.Verdict)
}

// FlagsOf returns the red flags of steps, each once.
func FlagsOf(steps []Step) (flags []Flag) {
	for _, s := range steps {
		for _, f := range s.Flags {
			if !slices.Contains(flags, f) {
				flags = append(flags, f)
			}
		}
	}
	return flags
}

// finish sets the rewards. A trial with a failed step has none.
func (r *Result) finish(s *Scene, digest string, ended time.Time) {
	r.Digest, r.Ended = digest, ended
	for _, step := range r.Steps {
		if step.Failure != nil && r.Failure == nil {
			r.Failure = step.Failure
		}
	}
	r.Flags = FlagsOf(r.Steps)
	if r.Failure == nil {
		r.Rewards = s.Total()
	}
}
