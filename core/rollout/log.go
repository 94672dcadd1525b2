package rollout

import (
	"context"
	"log/slog"

	"github.com/merit-rl/merit/core/rl"
)

func (c *Collector) debugs(ctx context.Context) bool { return c.log.Enabled(ctx, slog.LevelDebug) }

// logStep writes everything about a step that is known before it is scored.
func (w *worker) logStep(ctx context.Context, s *slot, step *rl.Step) {
	attrs := []slog.Attr{
		slog.String("trajectory", s.t.ID),
		slog.Int("step", step.Index),
		slog.String("observation", s.t.Messages[step.MessageCount-1].Content.Text()),
		slog.String("anchor", step.Anchor),
		slog.String("action", step.Action.Text),
		slog.Bool("action_valid", step.ActionValid),
		slog.Float64("log_prob", step.LogProb),
		slog.Float64("entropy", step.Entropy),
		slog.Float64("env_reward", step.EnvReward),
		slog.Bool("terminated", step.Terminated),
		slog.Bool("truncated", step.Truncated),
	}
	if step.RawOutput != "" {
		attrs = append(attrs, slog.String("raw_output", step.RawOutput))
	}
	if step.Value != nil {
		attrs = append(attrs, slog.Float64("value", *step.Value))
	}
	for _, m := range s.t.Messages[step.MessageCount+1:] {
		if m.Role == rl.RoleTool {
			attrs = append(attrs, slog.String("tool."+m.Name, m.Content.Text()))
		}
	}
	for _, call := range step.Action.ToolCalls {
		attrs = append(attrs, slog.String("call."+call.Function.Name, call.Function.Arguments))
	}
	w.collector.log.LogAttrs(ctx, slog.LevelDebug, "step", attrs...)
}
