package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// attempts is how often a question is asked: an answer that cannot be used is
// asked for once more, with what is wrong with it.
const attempts = 2

// verdict is an answer and what it means.
type verdict struct {
	answer   Answer
	attempts int
	scores   []score // by place; nil if the answer cannot be used
}

// decide returns the verdict about g by rubric: one that is kept, or the model's. An
// error may come with an answer that cannot be used.
func (j *Judge) decide(ctx context.Context, rubric string, g *group) (verdict, error) {
	q, err := j.question(rubric, g)
	if err != nil {
		return verdict{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, j.cfg.Timeout, &fault.Error{
		Boundary: fault.Model, Kind: fault.Timeout, What: fmt.Sprintf("no answer within %v", j.cfg.Timeout),
		Hint: "raise timeout, or ask a faster model", Retry: true,
	})
	defer cancel()
	key, err := j.key(q)
	if err != nil {
		return verdict{}, err
	}
	v, cached, err := j.cache.get(ctx, key, len(g.shown), func() (verdict, error) { return j.ask(ctx, q, len(g.shown)) })
	j.totals.question(cached)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return v, err
}

// ask puts q to the model until an answer about n trajectories can be used.
func (j *Judge) ask(ctx context.Context, q Question, n int) (v verdict, err error) {
	first, problem := q, ""
	for v.attempts < attempts {
		if v.attempts > 0 {
			q = again(first, v.answer, problem)
			j.totals.again()
		}
		answer, err := j.model.Ask(ctx, q)
		v.attempts++
		j.totals.spend(answer.Usage)
		if err != nil {
			return v, err
		}
		v.answer = bounded(answer)
		if v.scores, problem = read(answer, n); problem == "" {
			return v, nil
		}
	}
	return v, &fault.Error{
		Boundary: fault.Model, Kind: fault.Protocol, What: problem, Err: ErrUnusable,
		Hint: "use a server that enforces a JSON Schema, a larger model or smaller groups; if it was cut, raise max_tokens",
	}
}

// bounded is a as it is read and kept.
func bounded(a Answer) Answer {
	a.Text = strings.ToValidUTF8(a.Text[:min(len(a.Text), maxAnswer)], "\uFFFD")
	a.Model = clean(a.Model, 200)
	return a
}
