package council

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// said is the result of one request.
type said struct {
	asked      bool // a request was sent
	added      bool // a message was added for the request
	text       string
	err        error // temporary; the others continue
	given      []rl.Message
	decision   policy.Decision
	start, end time.Time
}

func (s said) problem() string {
	switch {
	case s.err != nil:
		return clip(s.err.Error(), maxReason)
	case s.asked && clip(s.text, 1<<20) == "":
		return "it said nothing"
	}
	return ""
}

// everybody sends a request to all members concurrently and appends their replies to their
// conversations, in the order of members. It calls ask in the order of members for a message
// to append first. An empty message appends none: in the first round the conversation already
// asks for an answer, and in a vote there is nothing to ask.
func (c *council) everybody(ctx context.Context, round int, label uint64, ask func(member int) string) ([]said, error) {
	all := make([]said, len(c.members))
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i := range c.members {
		text := ask(i)
		if text == "" && label == seedVote {
			continue
		}
		if t := c.agents[i]; text != "" {
			t.Messages = append(t.Messages, rl.Message{Role: rl.RoleUser, Content: rl.Text(text)})
		}
		wg.Go(func() {
			all[i] = c.request(inner, i, c.decision(label, round, i))
			all[i].added = text != ""
			if all[i].err != nil && !fault.Retryable(all[i].err) {
				cancel() // the others' answers would be discarded
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Interrupted, What: "the council was stopped", Err: context.Cause(ctx), Hint: "run the command again"}
	}
	if err := terminal(all); err != nil {
		return nil, err
	}
	for i, s := range all {
		if s.asked {
			c.write(i, s)
		}
	}
	return all, nil
}

// terminal returns the first permanent error, ignoring cancellations that it caused.
func terminal(all []said) (found error) {
	for _, s := range all {
		if s.err == nil || fault.Retryable(s.err) {
			continue
		}
		if !errors.Is(s.err, context.Canceled) {
			return s.err
		}
		found = s.err
	}
	return found
}

// request sends a request to one policy.
func (c *council) request(ctx context.Context, i int, seed rl.Seed) said {
	t := c.agents[i]
	n := len(t.Messages)
	s := said{asked: true, given: t.Messages[:n:n], start: c.log.now()}
	observed := []policy.Observation{{Messages: s.given, Text: t.Messages[n-1].Content.Text(), Seed: seed, Start: t.Seed}}
	decided := make([]policy.Decision, 1)
	err := c.members[i].Policy.Act(ctx, observed, decided)
	s.end, s.decision = c.log.now(), decided[0]
	if s.err = errors.Join(err, decided[0].Err); s.err != nil {
		return s
	}
	if s.text = s.decision.Raw; s.decision.Action.Kind == rl.ActionText {
		s.text = s.decision.Action.Text
	}
	s.text = clip(s.text, 1<<20)
	return s
}

// write appends what member i said to its conversation. It removes a failed request, because
// many chat templates require an answer after each message.
func (c *council) write(i int, s said) {
	t := c.agents[i]
	if s.err != nil {
		if s.added {
			t.Messages = t.Messages[:len(t.Messages)-1]
		}
		return
	}
	d := s.decision
	step := rl.Step{
		Index: len(t.Steps), MessageCount: len(t.Messages), Action: rl.Action{Kind: rl.ActionText, Text: s.text}, RawOutput: s.text,
		LogProb: d.LogProb, Entropy: d.Entropy, Tokens: d.Tokens, PolicyVersion: c.members[i].Policy.Version() - d.Lag, ActionValid: true, Info: d.Info,
	}
	if d.HasValue {
		step.Value = &d.Value
	}
	if d.Prompt != nil {
		step.Prompt = rl.NewPrompt(c.tokens[i], d.Prompt)
		c.tokens[i] = step.Prompt.Sequence(c.tokens[i], d.Tokens)
	}
	t.Messages = append(t.Messages, rl.Message{Role: rl.RoleAssistant, Content: rl.Text(s.text)})
	t.Steps = append(t.Steps, step)
}
