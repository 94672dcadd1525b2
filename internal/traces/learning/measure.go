package learning

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
)

// Measure reports what agents achieved in the traces that match a query, by the
// recorded rewards. Traces are sorted by task, and by start within a task, so that
// two measurements with the same number of traces of the same tasks can be compared
// in pairs.
func Measure(ctx context.Context, cfg *merit.Config, o Options) (*run.Evaluation, error) {
	if o.Now.IsZero() {
		o.Now = time.Now().UTC()
	}
	q, err := Query(Of(cfg).Query, o.Now)
	if err != nil {
		return nil, err
	}
	type played struct {
		*rl.Trajectory
		start time.Time
	}
	var all []played
	err = o.Traces.Each(ctx, q, func(t *trace.Trace) error {
		x, err := new(reader).episode(ctx, t)
		if err != nil {
			return err
		}
		steps := make([]rl.Step, max(len(x.Steps), 1)) // a trace without model calls has a start, too
		copy(steps, x.Steps)
		steps[0].Anchor = "task " + x.Group // equal tasks are equal starts
		for i := range steps {
			steps[i] = rl.Step{Index: i, MessageCount: steps[i].MessageCount, Anchor: steps[i].Anchor}
		}
		all = append(all, played{&rl.Trajectory{
			ID: x.ID, Group: x.Group, Steps: steps, StopReason: x.StopReason, Outcome: x.Outcome, Evaluation: x.Evaluation,
		}, t.Start})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, wrong(fault.Missing, "traces.query", "the query matched no traces", "list the traces with merit traces list")
	}
	slices.SortFunc(all, func(a, b played) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), a.start.Compare(b.start), cmp.Compare(a.ID, b.ID))
	})
	m := train.Measurement{Align: cfg.Align, Train: cfg.Train}
	for _, t := range all {
		m.Add(t.Trajectory)
	}
	e := &run.Evaluation{
		Environment: run.Plugin{Name: "traces", Version: "1"}, Split: "traces", Seed: cfg.Seed,
		Player:  run.Player{Policy: &run.Policy{Plugin: run.Plugin{Name: "traces", Version: Of(cfg).Query}}},
		Rewards: []run.Module{{Name: "recorded", Digest: Recorded{}.Info().Digest, Weight: 1}},
	}
	e.Score, e.Episodes = m.Score()
	return e, nil
}
