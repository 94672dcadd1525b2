package monitor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// healthy is a run of n iterations that goes from 10 % to 70 % in the first
// forty and creeps on, with the noise of 256 episodes. Change makes of line i,
// counted from 1, what a case is about.
func healthy(n int, change func(i int, it *run.Iteration)) []run.Iteration {
	chance := rand.New(rand.NewPCG(1, 2))
	lines := []run.Iteration{{Validation: &run.Score{Success: 0.1, SuccessInterval: run.Interval{0.08, 0.12}}}}
	for i := 1; i <= n; i++ {
		p := 0.1 + 0.6*math.Min(1, float64(i)/40) + 0.001*float64(i)
		score := p + 0.02*chance.NormFloat64()
		it := run.Iteration{
			Iteration: i, Outcomes: map[string]int{"scored": 256},
			Rollout:   &run.Rollout{Success: p, Return: score, Length: 10, Episodes: 256},
			Advantage: &run.Advantage{Std: 0.4, AnchorGroups: 500, SingletonShare: 0.1, StepShare: 0.8, ZeroVarianceRate: 0.4},
			Update:    &run.Update{KL: 0.01, Entropy: 1.3 - 0.8*p, GradNorm: 0.3 + 0.05*chance.Float64(), ValueLoss: p * (1 - p) / 4, LearningRate: 1e-3},
			Outputs: &run.Outputs{
				Groups: 32, Score: score, ScoreStd: math.Sqrt(p * (1 - p)), ScoreError: 0.02, Top: p, EnvReward: p + 0.02*chance.NormFloat64(),
				Words: 50, Distinct: 0.8, Different: 0.9, Metrics: map[string]float64{"spills": 3 - 2*p},
			},
		}
		if i%10 == 0 {
			it.Validation = &run.Score{Success: p - 0.02, SuccessInterval: run.Interval{p - 0.07, p + 0.03}, Episodes: 300}
		}
		if change != nil {
			change(i, &it)
		}
		lines = append(lines, it)
	}
	return lines
}

// Promise: an iteration in which every reward failed, of which nothing else was
// measured, raises the alarm of episodes without a score.
func TestAllUnscored(t *testing.T) {
	history := healthy(5, func(i int, it *run.Iteration) {
		if i == 5 {
			it.Outcomes, it.Outputs = map[string]int{"infrastructure": 256}, nil
		}
	})
	require.Empty(t, Default().Look(history[:5]))
	alarms := Default().Look(history)
	require.Len(t, alarms, 1)
	require.Equal(t, "unscored", alarms[0].Name)
	require.Equal(t, run.Alert, alarms[0].Level)
	require.Equal(t, 5, alarms[0].Iteration)
	require.Empty(t, Default().Look(nil))
	require.Empty(t, Default().Look(history[:1]), "before training")
}

// Promise: a history of episodes alone, without the updates of the policy, raises the other flags
// and no others. A flag that stays raised is repeated after as many lines as Repeat says, however
// far apart their numbers are.
func TestEpisodesAlone(t *testing.T) {
	history := healthy(60, func(i int, it *run.Iteration) {
		it.Iteration, it.Update = 100*i, nil
		if i > 30 {
			it.Outputs.Distinct = 0.1
		}
	})
	var raised []int
	for n := 1; n <= len(history); n++ {
		alarms := Default().Look(history[:n])
		history[n-1].Alarms = alarms
		for _, a := range alarms {
			require.Equal(t, "repetition", a.Name)
			raised = append(raised, a.Iteration/100)
		}
	}
	require.Len(t, raised, 2)
	require.Equal(t, Default().Repeat, raised[1]-raised[0])
}

// Promise: every red flag goes up on a history of its kind, with evidence and
// advice, and no other does.
func TestEveryFlagOnItsKind(t *testing.T) {
	testneeds.NotShort(t)
	past := func(from int, change func(it *run.Iteration)) func(int, *run.Iteration) {
		return func(i int, it *run.Iteration) {
			if i >= from {
				change(it)
			}
		}
	}
	flat := func(it *run.Iteration) {
		it.Outputs.Score += 0.2 - it.Rollout.Success
		it.Outputs.EnvReward += 0.2 - it.Rollout.Success
		it.Rollout.Success, it.Outputs.Top, it.Outputs.ScoreStd, it.Validation = 0.2, 0.2, 0.4, nil
	}
	cases := map[string]struct {
		level  run.Level
		change func(i int, it *run.Iteration)
	}{
		"reward_flat": {run.Warn, past(1, flat)},
		"plateau": {run.Warn, func(i int, it *run.Iteration) {
			if i > 40 {
				it.Outputs.Score -= 0.001 * float64(i-40)
				it.Outputs.EnvReward -= 0.001 * float64(i-40)
				it.Rollout.Success = 0.74
			}
		}},
		"oscillation": {run.Alert, func(i int, it *run.Iteration) {
			if i > 60 {
				it.Outputs.Score += 0.3 * math.Sin(float64(i)*1.3)
			}
		}},
		"kl":                 {run.Alert, past(30, func(it *run.Iteration) { it.Update.KL = 0.6 })},
		"entropy_collapse":   {run.Alert, past(50, func(it *run.Iteration) { it.Update.Entropy = 0.05 })},
		"value_loss":         {run.Warn, func(i int, it *run.Iteration) { it.Update.ValueLoss *= 1 + float64(max(0, i-40))/8 }},
		"gradient_explosion": {run.Alert, past(70, func(it *run.Iteration) { it.Update.GradNorm *= 40 })},
		"no_variance":        {run.Warn, past(50, func(it *run.Iteration) { it.Advantage.ZeroVarianceRate = 1 })},
		"singleton_anchors":  {run.Warn, past(1, func(it *run.Iteration) { it.Advantage.SingletonShare = 0.99 })},
		"held_out_gap": {run.Warn, past(50, func(it *run.Iteration) {
			if it.Validation != nil {
				it.Validation = &run.Score{Success: 0.4, SuccessInterval: run.Interval{0.35, 0.45}}
			}
		})},
		"unscored": {run.Alert, past(50, func(it *run.Iteration) { it.Outcomes = map[string]int{"scored": 150, "trap": 106} })},
		"divergence": {run.Alert, func(i int, it *run.Iteration) {
			if i > 50 { // a trick is worth more than the task
				it.Outputs.Score += 0.02 * float64(i-50)
				it.Outputs.EnvReward = max(0, it.Outputs.EnvReward-0.02*float64(i-50))
			}
		}},
		"reward_jump": {run.Warn, func(i int, it *run.Iteration) {
			flat(it)
			if i >= 25 {
				it.Outputs.Score += 0.7
			}
		}},
		"perfect_scores": {run.Warn, func(i int, it *run.Iteration) {
			if i > 40 {
				it.Outputs.Top, it.Outputs.ScoreStd = 1, 0
			}
			it.Outputs.EnvReward, it.Rollout.Success = 0.1, 0.1
		}},
		"repetition":     {run.Alert, past(50, func(it *run.Iteration) { it.Outputs.Distinct = 0.2 })},
		"lost_diversity": {run.Alert, past(50, func(it *run.Iteration) { it.Outputs.Different = 0.1 })},
		"length":         {run.Warn, func(i int, it *run.Iteration) { it.Outputs.Words = 50 * (1 + float64(i)/20) }},
	}
	require.Empty(t, replay(Default(), healthy(120, nil)), "of a healthy run")
	for _, name := range checkNames() {
		t.Run(name, func(t *testing.T) {
			c, ok := cases[name]
			require.True(t, ok, "there is no case")
			lines := healthy(160, c.change)
			if name == "reward_jump" {
				lines = lines[:40]
			}
			all := replay(Default(), lines)
			require.NotEmpty(t, all)
			highest := run.Warn
			for _, a := range all {
				require.Equal(t, name, a.Name, a.Evidence)
				require.NotEmpty(t, a.Evidence)
				require.NotEmpty(t, a.Advice)
				if a.Level == run.Alert {
					highest = a.Level
				}
			}
			require.Equal(t, c.level, highest)

			off := Default()
			off.Off = []string{name}
			require.Empty(t, replay(off, lines))
		})
	}
}

// Promise: a metric of the environment of which less is better is watched by
// its name with a minus.
func TestWatchedDownwards(t *testing.T) {
	lines := healthy(120, func(i int, it *run.Iteration) {
		if i > 50 {
			it.Outputs.Metrics["spills"] += 0.1 * float64(i-50)
		}
	})
	require.Empty(t, replay(Default(), lines))
	c := Default()
	c.Watch = []string{"-spills"}
	all := replay(c, lines)
	require.NotEmpty(t, all)
	require.Equal(t, "divergence", all[0].Name)
	require.Contains(t, all[0].Evidence, "spills went from")
}

// Promise: a flag that stays raised is reported again after Repeat iterations,
// not at each, and at once when a warning becomes an alarm.
func TestRepeats(t *testing.T) {
	var at []int
	lines := healthy(80, func(i int, it *run.Iteration) {
		if it.Update.KL = 0.01; i >= 30 {
			it.Update.KL = 0.2
		}
		if i >= 33 {
			it.Update.KL = 0.7
		}
	})
	for _, a := range replay(Default(), lines) {
		at = append(at, a.Iteration)
	}
	require.Equal(t, []int{30, 33, 53, 73}, at)
}

// Promise: a run whose training score is constant within its noise while
// validations still improve is not a plateau; if validations are constant too,
// it is.
func TestSlowClimbIsNoPlateau(t *testing.T) {
	stalled := func(slope float64) []run.Alarm {
		return replay(Default(), healthy(200, func(i int, it *run.Iteration) {
			if i > 40 {
				it.Outputs.Score -= 0.001 * float64(i-40)
				it.Outputs.EnvReward -= 0.001 * float64(i-40)
				it.Rollout.Success = 0.74
			}
			if it.Validation != nil {
				it.Validation.Return = 0.7 + slope*float64(i)
			}
		}))
	}
	require.Empty(t, stalled(0.0005))
	alarms := stalled(0)
	require.NotEmpty(t, alarms)
	require.Equal(t, "plateau", alarms[0].Name)
}

// Promise: scores that are equal because all are 0, or because the policy has lost what it
// knew, are not called perfect; scores that are all 1 from the start are.
func TestPerfectScores(t *testing.T) {
	equal := func(score float64, from int) []run.Alarm {
		return named("perfect_scores", replay(Default(), healthy(60, func(i int, it *run.Iteration) {
			if i > from {
				it.Outputs.Score, it.Outputs.Top, it.Outputs.ScoreStd = score, 1, 0
				it.Outputs.EnvReward, it.Rollout.Success, it.Validation = 0, 0, nil
			}
		})))
	}
	require.Empty(t, equal(0, 0))
	require.Empty(t, equal(-1, 0))
	require.Empty(t, equal(0, 30), "the policy was better before")
	require.NotEmpty(t, equal(1, 0))
}

func named(name string, all []run.Alarm) (out []run.Alarm) {
	for _, a := range all {
		if a.Name == name {
			out = append(out, a)
		}
	}
	return out
}

// Promise: a run that rises slowly from 10 % to 70 % is never called flat, and one that stays at
// 70 % is not either; most runs that stay at 10 % are.
func TestRewardFlatWaits(t *testing.T) {
	testneeds.NotShort(t)
	flat := func(seed uint64, success func(i int) float64) bool {
		chance := rand.New(rand.NewPCG(seed, 9))
		return len(named("reward_flat", replay(Default(), healthy(120, func(i int, it *run.Iteration) {
			const episodes = 64
			n, p := 0, success(i)
			for range episodes {
				if chance.Float64() < p {
					n++
				}
			}
			score := float64(n) / episodes
			it.Outputs.Score, it.Outputs.ScoreStd, it.Outputs.EnvReward, it.Rollout.Success, it.Validation = score, math.Sqrt(score*(1-score)), score, score, nil
		})))) > 0
	}
	found := 0
	for seed := range uint64(20) {
		require.False(t, flat(seed, func(i int) float64 { return 0.1 + 0.6/(1+math.Exp(-(float64(i)-60)/12)) }), "seed %d", seed)
		require.False(t, flat(seed, func(int) float64 { return 0.7 }), "seed %d", seed)
		if flat(seed, func(int) float64 { return 0.1 }) {
			found++
		}
	}
	require.GreaterOrEqual(t, found, 12)
}
