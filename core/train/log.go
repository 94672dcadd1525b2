package train

import (
	"context"
	"log/slog"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/rl"
)

// logSteps writes every step of the batch at debug level, with the credit that
// it was given; the collector has logged what was known before, under the same
// trajectory and step. Where debug is off it costs nothing.
func (l *loop) logSteps(ctx context.Context, b *credit.Batch) {
	if !l.deps.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, t := range b.Trajectories {
		for i := range t.Steps {
			l.deps.Log.LogAttrs(ctx, slog.LevelDebug, "credit", stepAttrs(t, &t.Steps[i])...)
		}
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
