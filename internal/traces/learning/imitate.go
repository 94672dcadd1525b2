package learning

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// imitate weighs the answers of e, which are those of batch b, for a language model that
// clones them. A trajectory in which an answer lacks token ids gets those of p's own
// tokenizer.
func (s *Set) imitate(ctx context.Context, p policy.Policy, b *credit.Batch, e *policy.Experience) (*policy.Experience, *run.OffPolicy, error) {
	w := weights{most: s.cfg.MaxRatio}
	clone(e, &w, s.cfg.Temperature)
	if l, ok := p.(policy.Learner); !ok || !l.Spec().Imitates {
		return nil, nil, &fault.Error{
			Boundary: fault.Learner, Kind: fault.Invalid, Where: "traces.method", What: "the policy cannot imitate answers of others",
			Hint: "use policy.plugin: tinker (merit engine install skyrl brings the newest); or set traces.method: importance, which needs traces with token ids and log-probabilities; a policy of your own needs imitates in its spec",
		}
	}
	e.Imitate = true
	e.Trajectories = append([]*rl.Trajectory(nil), e.Trajectories...)
	var asked []policy.Observation
	var answers []answer
	for i, t := range b.Trajectories {
		if !unencoded(t, e.Weight[b.First[i]:]) {
			continue
		}
		c := as(t, t.ID, t.Group)
		for k := range c.Steps {
			if step := &c.Steps[k]; e.Weight[b.First[i]+k] > 0 {
				asked = append(asked, policy.Observation{Messages: conversation(c, step), Answered: true})
				answers = append(answers, answer{step, i})
			}
		}
		e.Trajectories[i] = c
	}
	if err := encode(ctx, p, asked, answers); err != nil {
		return nil, nil, err
	}
	return e, w.stats(), nil
}

// conversation returns the messages that a call was sent, and its answer.
func conversation(t *rl.Trajectory, step *rl.Step) []rl.Message {
	var sent []rl.Message
	if strictjson.Unmarshal(step.Info[infoSent], &sent) != nil { // absent: as in the trajectory
		return t.Messages[:step.MessageCount+1]
	}
	return append(sent, t.Messages[step.MessageCount])
}

// unencoded reports whether a step with a weight lacks token ids.
func unencoded(t *rl.Trajectory, weight []float64) bool {
	for k := range t.Steps {
		if weight[k] > 0 && (t.Steps[k].Prompt == nil || len(t.Steps[k].Tokens) == 0) {
			return true
		}
	}
	return false
}

// answer is a step to imitate, and the index of its trajectory.
type answer struct {
	*rl.Step
	of int
}

// encode gives answers, those of a trajectory one behind the other, the tokens of the messages
// that observations end with.
func encode(ctx context.Context, p policy.Policy, observations []policy.Observation, answers []answer) error {
	decisions := make([]policy.Decision, len(observations))
	if err := p.Act(ctx, observations, decisions); err != nil {
		return fmt.Errorf("turning the answers of traces into tokens: %w", err)
	}
	var before []int32
	for i, d := range decisions {
		a := answers[i]
		switch {
		case d.Err != nil:
			return fmt.Errorf("turning the answers of traces into tokens: %w", d.Err)
		case d.Stop != "":
			return unfit(a, "is longer than the model's context", "leave the trace out in traces.query, or raise policy.options.context")
		case len(d.Prompt) == 0 || len(d.Tokens) == 0:
			return unfit(a, "got no tokens from the policy", "return the prompt and the tokens of an answered request")
		}
		if i > 0 && a.of != answers[i-1].of {
			before = nil
		}
		a.Prompt, a.Tokens = rl.NewPrompt(before, d.Prompt), d.Tokens
		before = a.Prompt.Sequence(before, d.Tokens)
	}
	return nil
}

func unfit(a answer, what, hint string) error {
	return &fault.Error{Boundary: fault.Learner, Kind: fault.Invalid, Where: fmt.Sprintf("the answer of call %s", a.Info["span"]), What: what, Hint: hint}
}
