package monitor

import (
	"fmt"

	"github.com/merit-rl/merit/core/run"
)

// dataFlags say that there is little to learn from.
var dataFlags = []flag{
	{
		name: "no_variance", look: noVariance,
		advice: "groups whose members all score the same teach nothing by comparison: use larger groups, tasks of middling difficulty, train.resample, or a reward with more values than two",
	},
	{
		name: "singleton_anchors", look: singletonAnchors,
		advice: "hardly a state is met twice, so steps are not compared: leave out of the anchor what does not matter, use a similarity (advantage.similarity), larger groups, or grpo, which says the same for less",
	},
	{
		name: "held_out_gap", look: heldOutGap,
		advice: "the policy learns the training starts by heart: use more of them, a smaller network, fewer epochs, and the best checkpoint in the place of the last",
	},
}

// outcomeFlags look at nothing but what became of the episodes: they are up where
// no episode has a score and there is nothing else to look at.
var outcomeFlags = []flag{
	{
		name: "unscored", look: unscored,
		advice: "look at the outcomes of these episodes: what the reward says of each stands in their evaluation; a reward that fails is to be mended, not to be trained with",
	},
}

func noVariance(v *view) *finding {
	rate := v.series("no_variance", func(it *run.Iteration) float64 { return it.Advantage.ZeroVarianceRate })
	it := v.last()
	if !v.windows(1) || v.solved() || it.Rollout.Episodes <= it.Outputs.Groups { // groups of one are not to be compared
		return nil
	}
	if got := v.tail(rate); got >= v.c.Thresholds.NoVariance {
		return &finding{run.Warn, got, v.c.Thresholds.NoVariance, fmt.Sprintf(
			"in %.1f %% of the groups of the last %d iterations all members scored the same", 100*got, v.c.Window)}
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

// heldOutGap: at two validations in a row training succeeded clearly more.
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
		"success is %.1f %% on held-out starts, at most %.1f %%; in training it is %.1f points above that", 100*val.Success, 100*val.SuccessInterval[1], 100*gap)}
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
