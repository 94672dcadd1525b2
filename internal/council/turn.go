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

// said is what became of one request.
type said struct {
	asked      bool // there was one
	added      bool // a message was added for it
	text       string
	err        error // it may pass, and the others go on
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

// everybody puts a request to all members at one time and writes what they said
// into their conversations, in the order of members. Ask adds a message before
// it; it is called in the order of members. An empty one adds none: in the first
// round that is a request for an answer, at a vote there is nothing to ask.
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
				cancel() // the others' answers would be thrown away
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Interrupted, What: "the council was stopped", Err: context.Cause(ctx), Hint: "begin it again"}
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

// terminal is the first error after which no other request would fare better;
// that others were cancelled because of it is none.
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

// request asks one policy.
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

// write adds what member i said to its conversation. A request that failed is
// taken out of it: many chat templates want an answer behind each message.
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
