package openenv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/openenv/session"
	"github.com/merit-rl/merit/internal/openenv/shape"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/plugins/internal/parallel"
	"github.com/merit-rl/merit/sdk/plugin"
)

// slot plays its episodes in one session until the session breaks.
type slot struct {
	game    *game
	number  int
	session *session.Session
	last    parallel.Frame // what the policy saw last
	steps   int
}

// Pauses between two requests for a session.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Reset implements parallel.Slot. It begins the episode of a seed, in a new session if none is
// open. While the server is full or unreachable, Reset retries.
func (s *slot) Reset(ctx context.Context, seed uint64) (parallel.Frame, error) {
	limit := s.game.options.ResetTimeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		f, err := s.begin(ctx, seed)
		switch {
		case err == nil:
			return f, nil
		case ctx.Err() != nil && !session.Full(err):
			return f, fmt.Errorf("no reset within reset_timeout %v", limit)
		case !session.Full(err):
			return f, err
		}
		// Slots that were refused together must not retry together.
		select {
		case <-time.After(pause + pause*time.Duration(s.number%16)/16):
		case <-ctx.Done():
			return f, fmt.Errorf("the server had no session within reset_timeout %v: %w", limit, err)
		}
	}
}

// begin resets the session once.
func (s *slot) begin(ctx context.Context, seed uint64) (parallel.Frame, error) {
	if s.session == nil || s.session.Broken() {
		opened, err := s.game.server.Open(ctx)
		if err != nil {
			return parallel.Frame{}, err
		}
		s.session = opened
	}
	a, err := s.ask(ctx, s.game.resetMessage(seed))
	if err != nil {
		return parallel.Frame{}, err
	}
	f, err := s.game.observe(a)
	switch {
	case err != nil:
		return f, err
	case len(f.Events) >= wire.MaxEvents:
		return f, fmt.Errorf("%d metrics and infos in one answer, less than %d are taken", len(f.Events), wire.MaxEvents)
	case a.Done:
		return f, errors.New("the episode is over right after its reset")
	case f.Reward != 0: // no action was taken yet
		raw := fmt.Sprint(f.Reward)
		f.Events, f.Reward = append(f.Events, env.Event{Kind: env.EventInfo, Name: "reset_reward", Message: raw}), 0
	}
	s.last, s.steps = f, 0
	return f, nil
}

// Step implements parallel.Slot.
func (s *slot) Step(ctx context.Context, a plugin.Action) (parallel.Frame, error) {
	moves, problem := s.game.moves(a)
	if problem != "" {
		return s.invalid(problem), nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.game.options.StepTimeout)
	defer cancel()
	var reward float64
	var said []env.Event
	for i, m := range moves {
		answer, err := s.ask(ctx, m.message)
		var f *shape.Failure
		if errors.As(err, &f) && f.Code == shape.ValidationError && i == 0 {
			return s.invalid("The server does not take this action: " + f.Message), nil
		}
		if ctx.Err() != nil {
			return parallel.Frame{}, fmt.Errorf("no answer within step_timeout %v", s.game.options.StepTimeout)
		}
		if err != nil {
			return parallel.Frame{}, err
		}
		if m.tool != "" {
			said = append(said, toolResult(m.tool, answer))
		}
		reward += answer.Reward
		if i < len(moves)-1 && !answer.Done {
			continue
		}
		return s.shown(answer, reward, said)
	}
	panic("an action makes at least one move")
}

// shown returns the frame for the last answer to an action.
func (s *slot) shown(a *shape.Answer, reward float64, said []env.Event) (parallel.Frame, error) {
	f, err := s.game.observe(a)
	if err != nil {
		return f, err
	}
	f.Reward, f.Events = reward, append(said, f.Events...)
	// The host would kill the process of all slots for these.
	switch {
	case math.IsInf(reward, 0):
		return f, errors.New("the rewards of the calls add up to more than a number holds")
	case len(f.Events) > wire.MaxEvents:
		return f, fmt.Errorf("%d metrics, infos and tool results in one answer, at most %d", len(f.Events), wire.MaxEvents)
	}
	s.last = f
	return s.count(f), nil
}

// invalid returns the frame for an action without an effect: the problem, followed by the
// previous observation.
func (s *slot) invalid(problem string) parallel.Frame {
	f := s.last
	f.Text, f.Reward, f.Events, f.Flags = wire.Cut(problem+"\n\n"+s.last.Text, wire.MaxText), 0, nil, env.InvalidAction
	return s.count(f)
}

// count counts a step and truncates the episode at the limit.
func (s *slot) count(f parallel.Frame) parallel.Frame {
	s.steps++
	if most := s.game.options.MaxSteps; most > 0 && s.steps >= most && f.Flags&env.Terminated == 0 {
		f.Flags |= env.Truncated
	}
	return f
}

// ask sends a message and reads the observation that answers it.
func (s *slot) ask(ctx context.Context, message []byte) (*shape.Answer, error) {
	m, err := s.session.Ask(ctx, message)
	if err != nil {
		return nil, err
	}
	if m.Type != shape.Observation {
		s.session.Break()
		return nil, fmt.Errorf("the server answers with a message of type %q", m.Type)
	}
	return shape.DecodeAnswer(m.Data)
}

// toolResult returns the result of a tool, for the conversation.
func toolResult(tool string, a *shape.Answer) env.Event {
	v, ok := a.Lookup("observation.result")
	if wrong, is := a.Lookup("observation.error"); is && wrong != nil {
		v, ok = wrong, true
	}
	if !ok {
		v, _ = a.Lookup("observation")
	}
	if inner, is := v.(map[string]any); is && inner["data"] != nil { // as FastMCP wraps it
		v = inner["data"]
	}
	return env.Event{Kind: env.EventToolResult, Name: tool, Message: shape.Text(v)}
}

// Close implements parallel.Slot.
func (s *slot) Close() {
	if s.session != nil {
		s.session.Close()
	}
}
