package train

import (
	"context"
	"log/slog"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/rl"
)

// logSteps logs every step of the batch with its credit at debug level; the
// collector has already logged the rest under the same trajectory and step. It
// costs nothing if the level is not enabled.
func (l *loop) logSteps(ctx context.Context, b *credit.Batch) {
	if !l.deps.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	estimates := newEstimates(b)
	for i, t := range b.Trajectories {
		for k := range t.Steps {
			attrs := append(stepAttrs(t, &t.Steps[k]), estimates.of(b.First[i]+k)...)
			l.deps.Log.LogAttrs(ctx, slog.LevelDebug, "credit", attrs...)
		}
	}
}

// logEpisodes logs a line for each episode of a batch at debug level: what names
// what played it, such as train or validation.
func (l *loop) logEpisodes(ctx context.Context, what string, b *credit.Batch) {
	if !l.deps.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for i, t := range b.Trajectories {
		attrs := []slog.Attr{
			slog.String("of", what), slog.String("trajectory", t.ID), slog.String("group", t.Group), slog.String("task", t.Task),
			slog.Int("steps", len(t.Steps)), slog.String("stop_reason", string(t.StopReason)), slog.String("outcome", t.Outcome),
		}
		e := &b.Evaluations[i]
		reason := e.Reason
		if t.Evaluation != nil {
			attrs = append(attrs, slog.Float64("score", t.Evaluation.Score))
			if reason == "" {
				reason = t.Evaluation.Reason
			}
		}
		l.deps.Log.LogAttrs(ctx, slog.LevelDebug, "episode", append(attrs, slog.String("reason", reason))...)
	}
}

func stepAttrs(t *rl.Trajectory, s *rl.Step) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("trajectory", t.ID), slog.Int("step", s.Index), slog.String("outcome", t.Outcome),
		slog.String("action", s.Action.Text), slog.String("anchor", s.Anchor),
	}
	if c := s.Credit; c != nil {
		attrs = append(attrs,
			slog.Float64("base_reward", c.BaseReward), slog.Float64("return", c.Return), slog.Int("anchor_group", c.AnchorGroup),
			slog.Float64("episode_advantage", c.EpisodeAdvantage), slog.Float64("step_advantage", c.StepAdvantage),
			slog.Float64("advantage", c.Advantage))
	}
	return attrs
}

// mean is a mean in progress.
type mean struct{ sum, n float64 }

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

// value returns the mean; it is 0 if nothing was added.
func (m mean) value() float64 { return m.sum / max(m.n, 1) }

// estimates are estimates of the value of states, from the batch itself.
type estimates struct {
	b      *credit.Batch
	states map[int32]*mean // returns of the steps of an anchor group
	groups map[int32]*mean // scores of the members of a group
}

func newEstimates(b *credit.Batch) estimates {
	e := estimates{b, map[int32]*mean{}, map[int32]*mean{}}
	add := func(to map[int32]*mean, key int32, x float64) {
		if to[key] == nil {
			to[key] = new(mean)
		}
		to[key].add(x)
	}
	for i := range b.Trajectories {
		for row := b.First[i]; row < b.First[i+1]; row++ {
			if !b.Rows.Scored[row] {
				continue
			}
			if row == b.First[i] {
				add(e.groups, b.Rows.Group[row], b.Rows.Score[row])
			}
			if a := b.Credit.AnchorGroup[row]; a >= 0 {
				add(e.states, a, b.Credit.Return[row])
			}
		}
	}
	return e
}

// of returns the value of the state that a step saw, and where that is from: the
// critic, the mean return of the steps that saw the same state, or the mean score of
// the group. Without a score there is none.
func (e estimates) of(row int) []slog.Attr {
	value := func(x float64, from string) []slog.Attr {
		return []slog.Attr{slog.Float64("value", x), slog.String("value_from", from)}
	}
	switch a := e.b.Credit.AnchorGroup[row]; {
	case e.b.Steps[row].Value != nil:
		return value(*e.b.Steps[row].Value, "critic")
	case !e.b.Rows.Scored[row]:
		return nil
	case a >= 0:
		return value(e.states[a].value(), "state")
	}
	g := e.groups[e.b.Rows.Group[row]]
	return value(g.value(), "group")
}
