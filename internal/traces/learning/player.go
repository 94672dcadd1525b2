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

// Player answers calls as a policy does that learns from traces: it chooses one
// of its answers. It is safe for concurrent use.
type Player struct {
	learner policy.Learner
	choices []string
	digest  string
}

// Play opens the policy of a run from traces: checkpoint is its directory, whose
// best policy plays, or a file in its checkpoints folder.
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

// Untrained opens the policy of a configuration that names its choices, before
// it has learnt anything: what a first set of traces can be recorded with.
func Untrained(ctx context.Context, cfg *merit.Config, opts ...merit.Option) (*Player, error) {
	return open(ctx, cfg, nil, opts)
}

func open(ctx context.Context, cfg *merit.Config, c *run.Checkpoint, opts []merit.Option) (*Player, error) {
	if len(Of(cfg).Choices) < 2 {
		return nil, wrong(fault.Missing, "traces.choices", "the configuration names no answers to choose among", "name the directory of a run from traces, or list the answers")
	}
	spec := env.Spec{Name: "traces", Version: "1", Actions: Of(cfg).Choices}
	l, err := cfg.OpenPlayer(ctx, spec, c, opts...)
	if err != nil {
		return nil, err
	}
	p := &Player{learner: l, choices: Of(cfg).Choices}
	if c != nil {
		p.digest = c.Digest
	}
	return p, nil
}

// Call is what a model is asked.
type Call struct {
	Messages []rl.Message // of which the policy reads the last one
	Choices  []string     // on offer; empty is all of the policy's
	Seed     rl.Seed      // the randomness of the answer
	Greedy   bool         // take the likeliest answer
}

// Answer is what the policy chose, and how likely that was, in nats: what
// learning from the answer needs.
type Answer struct {
	Text    string
	LogProb float64
	Entropy float64
}

// Answer answers a call. The answer is a function of the policy and the call.
func (p *Player) Answer(ctx context.Context, c Call) (Answer, error) {
	if len(c.Messages) == 0 {
		return Answer{}, p.wrong("there is no message", "send the conversation, with the question last")
	}
	var mask []byte
	if len(c.Choices) > 0 {
		mask = make([]byte, len(p.choices))
		for _, name := range c.Choices {
			at := slices.Index(p.choices, name)
			if at < 0 {
				return Answer{}, p.wrong(fmt.Sprintf("%q is none of its answers", name), fmt.Sprintf("offer some of %q", p.choices))
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

// Choices are the answers of the policy.
func (p *Player) Choices() []string { return slices.Clone(p.choices) }

// Digest identifies the weights; empty for a policy without training.
func (p *Player) Digest() string { return p.digest }

// Close frees what the policy holds.
func (p *Player) Close() error { return p.learner.Close() }

func (p *Player) wrong(what, hint string) error {
	return &fault.Error{Boundary: fault.Learner, Kind: fault.Invalid, Where: "policy", What: what, Hint: hint}
}
