package learning

import (
	"context"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
)

// Player answers calls with a policy that was trained from traces: it chooses one of
// its answers. It is safe for concurrent use.
type Player struct {
	learner policy.Learner
	choices []string
	digest  string
}

// Play opens the policy of a run that learned from traces. checkpoint is the run
// directory, whose best policy plays, or a file in its checkpoints folder.
func Play(ctx context.Context, checkpoint string, opts ...merit.Option) (*Player, error) {
	dir, name, err := merit.SplitCheckpoint(checkpoint)
	if err != nil {
		return nil, err
	}
	c, err := run.ReadCheckpoint(dir, name)
	if err != nil {
		return nil, err
	}
	cfg, err := merit.LoadRun(dir)
	if err != nil {
		return nil, err
	}
	return open(ctx, cfg, c, opts)
}

// Untrained opens the untrained policy of a configuration that lists its choices; use
// it to record a first set of traces.
func Untrained(ctx context.Context, cfg *merit.Config, opts ...merit.Option) (*Player, error) {
	return open(ctx, cfg, nil, opts)
}

func open(ctx context.Context, cfg *merit.Config, c *run.Checkpoint, opts []merit.Option) (*Player, error) {
	if len(Of(cfg).Choices) < 2 {
		return nil, wrong(fault.Missing, "traces.choices", "the configuration lists no answers to choose from", "pass the directory of a run that learned from traces, or list the answers in traces.choices")
	}
	spec := env.Spec{Name: "traces", Version: "1", Actions: Of(cfg).Choices}
	l, err := cfg.OpenPlayer(ctx, spec, c, opts...)
	if f := fault.As(err); f != nil && f.Boundary == fault.Learner && cfg.Environment.Named() {
		return nil, wrong(fault.Refused, "policy", "it was trained on the features of its environment, and calls contain text",
			"play it in the environment: merit policy measure --policy RUN")
	}
	if err != nil {
		return nil, err
	}
	p := &Player{learner: l, choices: Of(cfg).Choices}
	if c != nil {
		p.digest = c.Digest
	}
	return p, nil
}

// Call is one call of a model.
type Call struct {
	Messages []rl.Message // the policy reads only the last one
	Choices  []string     // offered choices; empty means all of the policy's
	Seed     rl.Seed      // the randomness of the answer
	Greedy   bool         // take the most probable answer
}

// Answer is the chosen answer and its log-probability in nats, which learning from
// the answer needs.
type Answer struct {
	Text    string
	LogProb float64
	Entropy float64
}

// Answer answers a call. The answer depends only on the policy and the call.
func (p *Player) Answer(ctx context.Context, c Call) (Answer, error) {
	if len(c.Messages) == 0 {
		return Answer{}, p.wrong("the call has no messages", "send the conversation, with the question as the last message")
	}
	var mask []byte
	if len(c.Choices) > 0 {
		mask = make([]byte, len(p.choices))
		for _, name := range c.Choices {
			at := slices.Index(p.choices, name)
			if at < 0 {
				return Answer{}, p.wrong(fmt.Sprintf("%q is not one of its answers", name), fmt.Sprintf("offer some of %q", p.choices))
			}
			mask[at] = 1
		}
	}
	observation := []policy.Observation{{
		Messages: c.Messages, Text: c.Messages[len(c.Messages)-1].Content.Text(), Mask: mask, Actions: p.choices, Seed: c.Seed, Greedy: c.Greedy,
	}}
	decision := make([]policy.Decision, 1)
	if err := p.learner.Act(ctx, observation, decision); err != nil {
		return Answer{}, err
	}
	d := decision[0]
	return Answer{Text: d.Action.Text, LogProb: d.LogProb, Entropy: d.Entropy}, d.Err
}

// Choices returns the answers of the policy.
func (p *Player) Choices() []string { return slices.Clone(p.choices) }

// Digest identifies the weights; it is empty for an untrained policy.
func (p *Player) Digest() string { return p.digest }

// Close releases the policy.
func (p *Player) Close() error { return p.learner.Close() }

func (p *Player) wrong(what, hint string) error {
	return &fault.Error{Boundary: fault.Learner, Kind: fault.Invalid, Where: "policy", What: what, Hint: hint}
}
