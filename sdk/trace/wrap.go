package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Chat wraps a function that calls a model. Each call becomes a span of kind
// prompt, which read makes from the question and the answer (the zero A after
// an error). The behavior of f does not change; if t is off, Chat returns f
// itself.
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

// UseTool wraps a function that is a tool. Each call becomes a span of kind
// tool, with arguments and result as JSON (texts unchanged).
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

// Agent wraps a function that is an agent. Each call becomes a span of kind
// content with its result, and spans within it belong to the agent. A call
// outside of a trace begins its own trace.
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

// Named returns a context in which spans belong to the agent.
func Named(ctx context.Context, agent string) context.Context {
	p := placeOf(ctx)
	p.agent = agent
	return context.WithValue(ctx, placeKey{}, p)
}

// Coordinate records an event between agents: an answer, a vote, a restart or
// an end. text is the answer or the reason.
func (t *Tracer) Coordinate(ctx context.Context, c Coordination, text string) {
	if t != nil {
		t.coordinate(ctx, c, text) // a separate method, so that nothing is allocated if t is off
	}
}

func (t *Tracer) coordinate(ctx context.Context, c Coordination, text string) {
	_, s := t.Start(ctx, trace.KindCoordination, string(c.Event))
	s.Coordination, s.Text = &c, text
	s.End(nil)
}

// Reward records a reward for the span of the context, or for the whole trace
// if the context is in no span.
func (t *Tracer) Reward(ctx context.Context, name string, score float64) {
	if t != nil {
		t.reward(ctx, name, score)
	}
}

func (t *Tracer) reward(ctx context.Context, name string, score float64) {
	_, s := t.Start(ctx, trace.KindReward, name)
	s.Reward = &trace.Reward{Of: s.Parent, Outcome: "scored", Score: &score}
	if math.IsNaN(score) || math.IsInf(score, 0) { // a missing number never becomes 0
		s.Reward.Outcome, s.Reward.Score = "invalid", nil
	}
	s.End(nil)
}

// finish ends the span of a wrapped function. If ended is false, the function
// panicked. fill sets the details of the span and may run the user's code.
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

// told returns a value as text: a text itself, or the JSON of another value.
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
