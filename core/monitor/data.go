package monitor

import (
	"fmt"

	"github.com/merit-rl/merit/core/run"
)

// dataFlags are raised if there is little to learn from.
var dataFlags = []flag{
	{
		name: "no_variance", look: noVariance,
		advice: "members with equal scores give a comparison nothing to learn from: use larger groups, tasks of medium difficulty, train.resample, or a reward with more than two values",
	},
	{
		name: "singleton_anchors", look: singletonAnchors,
		advice: "few states occur twice, so few steps are compared: leave irrelevant details out of the anchor, set advantage.similarity, use larger groups, or use grpo, which gives nearly the same result at lower cost",
	},
	{
		name: "held_out_gap", look: heldOutGap,
		advice: "the policy overfits the training starts: use more starts, a smaller network, fewer epochs, and the best checkpoint instead of the last",
	},
}

// outcomeFlags use the outcomes of the episodes alone. They also work if no
// episode has a score.
var outcomeFlags = []flag{
	{
		name: "unscored", look: unscored,
		advice: "look at the outcomes of these episodes: each evaluation has the reward's reason; correct a failing reward before you train with it",
	},
}

func noVariance(v *view) *finding {
	rate := v.series("no_variance", func(it *run.Iteration) float64 { return it.Advantage.ZeroVarianceRate })
	it := v.last()
	if !v.windows(1) || v.solved() || it.Rollout.Episodes <= it.Outputs.Groups { // groups of one have nothing to compare
		return nil
	}
	if got := v.tail(rate); got >= v.c.Thresholds.NoVariance {
		return &finding{run.Warn, got, v.c.Thresholds.NoVariance, fmt.Sprintf(
			"all members scored the same in %.1f %% of the groups of the last %d iterations", 100*got, v.c.Window)}
	}
	return nil
}

func singletonAnchors(v *view) *finding {
	share := v.series("singletons", func(it *run.Iteration) float64 { return it.Advantage.SingletonShare })
	if got := v.tail(share); v.windows(1) && v.last().Advantage.AnchorGroups > 0 && got >= v.c.Thresholds.SingletonAnchors {
		return &finding{run.Warn, got, v.c.Thresholds.SingletonAnchors, fmt.Sprintf(
			"%.1f %% of the steps of the last %d iterations were alone in their anchor group", 100*got, v.c.Window)}
	}
	return nil
}

// heldOutGap: at two validations in a row, success in training was clearly higher.
func heldOutGap(v *view) *finding {
	if v.last().Validation == nil {
		return nil
	}
	seen, sum, n := 0, 0.0, 0
	var gap float64
	for i := len(v.lines) - 1; i >= 0 && seen < 2; i-- {
		sum, n = 0, 0
		val := v.lines[i].Validation
		if val == nil {
			continue
		}
		for j := i; j >= 0 && (j == i || v.lines[j].Validation == nil); j-- {
			sum, n = sum+v.lines[j].Rollout.Success, n+1
		}
		at := sum/float64(n) - val.SuccessInterval[1]
		if at < v.c.Thresholds.HeldOutGap {
			return nil
		}
		if seen++; seen == 1 {
			gap = at
		}
	}
	if seen < 2 {
		return nil
	}
	val := v.last().Validation
	return &finding{run.Warn, gap, v.c.Thresholds.HeldOutGap, fmt.Sprintf(
		"success is %.1f %% on held-out starts (at most %.1f %%); in training it is %.1f points higher", 100*val.Success, 100*val.SuccessInterval[1], 100*gap)}
}

func unscored(v *view) *finding {
	outcomes, total := v.last().Outcomes, 0
	for _, n := range outcomes {
		total += n
	}
	if total == 0 {
		return nil
	}
	t, share := v.c.Thresholds, 1-float64(outcomes["scored"])/float64(total)
	evidence := fmt.Sprintf("%d of %d episodes have no score", total-outcomes["scored"], total)
	switch {
	case share >= t.UnscoredAlarm:
		return &finding{run.Alert, share, t.UnscoredAlarm, evidence}
	case share >= t.UnscoredWarn:
		return &finding{run.Warn, share, t.UnscoredWarn, evidence}
	}
	return nil
}
