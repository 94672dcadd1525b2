package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Chat wraps a function that asks a model: each call becomes a span of kind
// prompt, which read makes of the question and the answer (the zero A if there
// was an error). The function does what it did; if t is off, it is f itself.
func Chat[Q, A any](t *Tracer, f func(context.Context, Q) (A, error), read func(Q, A) Prompt) func(context.Context, Q) (A, error) {
	if t == nil {
		return f
	}
	return func(ctx context.Context, q Q) (a A, err error) {
		ctx, s := t.Start(ctx, trace.KindPrompt, "chat")
		ended := false
		defer func() {
			s.finish(ended, err, func() {
				p := read(q, a)
				s.Prompt = &p
				if p.Model != "" {
					s.Name = p.Model
				}
			})
		}()
		a, err = f(ctx, q)
		ended = true
		return a, err
	}
}

// UseTool wraps a function that is a tool: each call becomes a span of kind
// tool, with arguments and result as JSON (texts as they are).
func UseTool[Q, A any](t *Tracer, name string, f func(context.Context, Q) (A, error)) func(context.Context, Q) (A, error) {
	if t == nil {
		return f
	}
	return func(ctx context.Context, q Q) (a A, err error) {
		ctx, s := t.Start(ctx, trace.KindTool, name)
		ended := false
		defer func() {
			s.finish(ended, err, func() {
				s.Tool = &trace.Tool{Arguments: told(q)}
				if err == nil {
					s.Tool.Result = told(a)
				}
			})
		}()
		a, err = f(ctx, q)
		ended = true
		return a, err
	}
}

// Agent wraps a function that is an agent: each call becomes a span of kind
// content with its result, and what happens within it is the agent's. A call
// outside of a trace is a trace of its own.
func Agent[Q, A any](t *Tracer, name string, f func(context.Context, Q) (A, error)) func(context.Context, Q) (A, error) {
	if t == nil {
		return f
	}
	return func(ctx context.Context, q Q) (a A, err error) {
		if p := placeOf(ctx); p.trace == "" {
			var x *Trace
			ctx, x = t.Trace(ctx, About{Agent: name})
			defer func() { x.End(err) }()
		}
		ctx, s := t.Start(Named(ctx, name), trace.KindContent, name)
		ended := false
		defer func() {
			s.finish(ended, err, func() {
				s.Attributes = map[string]json.RawMessage{"input": trace.JSON(told(q))}
				if err == nil {
					s.Text = told(a)
				}
			})
		}()
		a, err = f(ctx, q)
		ended = true
		return a, err
	}
}

// Named is the context of an agent: spans that begin in it are its.
func Named(ctx context.Context, agent string) context.Context {
	p := placeOf(ctx)
	p.agent = agent
	return context.WithValue(ctx, placeKey{}, p)
}

// Coordinate records an event among agents: an answer, a vote, a restart, an
// end. text is the answer or the reason.
func (t *Tracer) Coordinate(ctx context.Context, c Coordination, text string) {
	if t != nil {
		t.coordinate(ctx, c, text) // apart, so that nothing is allocated if t is off
	}
}

func (t *Tracer) coordinate(ctx context.Context, c Coordination, text string) {
	_, s := t.Start(ctx, trace.KindCoordination, string(c.Event))
	s.Coordination, s.Text = &c, text
	s.End(nil)
}

// Reward records what something was worth: the span of the context, or, in a
// context that is within none, the whole trace.
func (t *Tracer) Reward(ctx context.Context, name string, score float64) {
	if t != nil {
		t.reward(ctx, name, score)
	}
}

func (t *Tracer) reward(ctx context.Context, name string, score float64) {
	_, s := t.Start(ctx, trace.KindReward, name)
	s.Reward = &trace.Reward{Of: s.Parent, Outcome: "scored", Score: &score}
	if math.IsNaN(score) || math.IsInf(score, 0) { // no number is never 0
		s.Reward.Outcome, s.Reward.Score = "invalid", nil
	}
	s.End(nil)
}

// finish ends the span of a wrapped function, which has panicked if it has not
// ended; fill says what it was, and may be a stranger's code.
func (s *Span) finish(ended bool, err error, fill func()) {
	func() {
		defer func() {
			if bug := recover(); bug != nil {
				s.problem(fmt.Sprint("the call could not be read: ", bug))
			}
		}()
		fill()
	}()
	if !ended {
		err = errPanic
	}
	s.End(err)
}

var errPanic = errors.New("the function panicked")

// told is a value as a text: itself, or its JSON.
func told(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case error:
		return v.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
