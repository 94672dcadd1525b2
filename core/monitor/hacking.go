package monitor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/run"
)

// hackingFlags are raised if the policy may exploit the reward.
var hackingFlags = []flag{
	{
		name: "divergence", look: divergence, hacking: true,
		advice:  "the policy earns reward without doing the task: read the listed trajectories, close the gap in the reward (reward outcomes or differences of a potential; penalize the exploit), and restart from an earlier checkpoint",
		restart: true,
	},
	{
		name: "reward_jump", look: rewardJump, hacking: true,
		advice: "read the listed trajectories: the policy learned the task or found an exploit; compare the environment's own metrics",
	},
	{
		name: "perfect_scores", look: perfectScores, hacking: true,
		advice: "read the listed trajectories: an easy answer may satisfy the reward; harder cases and a second metric show whether it does",
	},
	{
		name: "repetition", look: repetition, hacking: true,
		advice: "outputs repeat themselves: read them, penalize repetition in the reward, and check whether the reward counts words or matches",
	},
	{
		name: "lost_diversity", look: lostDiversity, hacking: true,
		advice: "all outputs of a group are alike: raise the temperature or ppo.entropy, and constrain the policy with ppo.kl_coefficient",
	},
	{
		name: "length", look: length, hacking: true,
		advice: "the score follows the length of outputs: check whether the reward prefers long or short outputs, and bound the length in the reward",
	},
}

// watched is a series of Config.Watch, with the sign changed if necessary so that
// higher is better.
type watched struct {
	name string
	sign float64
	x    []float64
}

// watch returns what is watched and known of every line.
func (v *view) watch() (all []watched) {
	for _, name := range v.c.Watch {
		var w watched
		w.name, w.sign = direction(name)
		differs := false
		for _, it := range v.lines {
			x, ok := secondary(it, w.name)
			if !ok {
				break
			}
			differs = differs || abs(x-it.Outputs.Score) > 1e-6*(abs(x)+abs(it.Outputs.Score))
			w.x = append(w.x, w.sign*x)
		}
		if len(w.x) == len(v.lines) && differs { // the score itself is not evidence about the score
			all = append(all, w)
		}
	}
	return all
}

// direction splits an entry of Config.Watch: −1 means that lower is better.
func direction(entry string) (name string, sign float64) {
	if name, less := strings.CutPrefix(entry, "-"); less {
		return name, -1
	}
	return entry, 1
}

// secondary returns a measurement of a line that is not its score.
func secondary(it *run.Iteration, name string) (float64, bool) {
	o := it.Outputs
	switch name {
	case "env_reward":
		return o.EnvReward, true
	case "success":
		return it.Rollout.Success, true
	case "words":
		return o.Words, true
	case "distinct":
		return o.Distinct, true
	case "different":
		return o.Different, true
	}
	x, ok := o.Metrics[name]
	return x, ok
}

// divergence: since the best window of a watched metric the score has risen and
// the metric has fallen, each by more than chance.
func divergence(v *view) *finding {
	if !v.windows(2) {
		return nil
	}
	score := v.means(v.score)
	now := len(score) - 1
	for _, w := range v.watch() {
		means := v.means(w.x)
		best := 0
		for i := range means {
			if means[i] > means[best] {
				best = i
			}
		}
		fall, rise := means[best]-means[now], score[now]-score[best]
		size := abs(means[best])
		if size < 1e-9 || fall < v.c.Thresholds.Divergence*size || fall < 5*v.noise(w.x) || rise <= 4*v.noise(v.score)+1e-9 {
			continue
		}
		return &finding{run.Alert, fall / size, v.c.Thresholds.Divergence, fmt.Sprintf(
			"since iteration %d the mean score rose from %.3g to %.3g while %s went from %.3g to %.3g",
			v.lines[best+v.c.Window-1].Iteration, score[best], score[now], w.name, w.sign*means[best], w.sign*means[now])}
	}
	return nil
}

// rewardJump: a score that was constant rises suddenly, and no watched metric
// rises with it.
func rewardJump(v *view) *finding {
	const few = 3
	n := len(v.score)
	if n < 2*v.c.Window+few {
		return nil
	}
	before, now := v.score[n-few-2*v.c.Window:n-few], mean(v.score[n-few:])
	still := abs(mean(before[v.c.Window:])-mean(before[:v.c.Window])) <= 3*jitter(before)
	spread := max(v.last().Outputs.ScoreStd, v.lines[n-few-1].Outputs.ScoreStd)
	rise := now - mean(before)
	if !still || spread == 0 || rise < v.c.Thresholds.RewardJump*spread || rise < 6*jitter(before) || v.follows(n-few) {
		return nil
	}
	return &finding{run.Warn, rise / spread, v.c.Thresholds.RewardJump, fmt.Sprintf(
		"after %d iterations around %.3g the mean score rose to %.3g within %d", 2*v.c.Window, mean(before), now, few)}
}

// follows reports whether a watched metric has risen since line at.
func (v *view) follows(at int) bool {
	for _, w := range v.watch() {
		before := last(w.x[:at], 2*v.c.Window)
		if mean(w.x[at:])-mean(before) > 4*jitter(before)+1e-9 {
			return true
		}
	}
	return false
}

// perfectScores: nearly all episodes have the highest score, within the first
// window of a run or without a rise of a watched metric.
func perfectScores(v *view) *finding {
	const few = 3
	top := v.series("top", func(it *run.Iteration) float64 { return it.Outputs.Top })
	if len(top) < few || mean(last(top, few)) < v.c.Thresholds.PerfectScores || v.low() {
		return nil
	}
	how := fmt.Sprintf("after %d iterations", len(top))
	if len(top) > v.c.Window {
		all := v.watch()
		if len(all) == 0 || v.follows(min(v.c.Window, len(top)-few)) {
			return nil
		}
		how = fmt.Sprintf("and %s is no better than at the start", all[0].name)
	}
	got := mean(last(top, few))
	return &finding{run.Warn, got, v.c.Thresholds.PerfectScores, fmt.Sprintf(
		"%.1f %% of the episodes have the highest score, %.3g, %s", 100*got, v.last().Outputs.Score, how)}
}

// low reports whether equal scores are not the best ones: an earlier iteration had a higher
// mean, or every score of the run is the same and not positive.
func (v *view) low() bool {
	now := v.last().Outputs
	best := slices.Max(v.score)
	spread := slices.Max(v.series("spread", func(it *run.Iteration) float64 { return it.Outputs.ScoreStd }))
	return now.Score < best-1e-9*(1+abs(best)) || now.Score <= 0 && spread == 0 && slices.Min(v.score) == best
}

// repetition: outputs repeat word pairs far more often than before.
func repetition(v *view) *finding {
	repeated := v.series("repetition", func(it *run.Iteration) float64 { return 1 - it.Outputs.Distinct })
	if !v.windows(2) || v.last().Outputs.Words == 0 {
		return nil
	}
	return v.text(v.tail(repeated)-v.head(repeated), v.c.Thresholds.Repetition, fmt.Sprintf(
		"%.0f %% of an output's word pairs repeat an earlier one; it was %.0f %%", 100*v.tail(repeated), 100*v.head(repeated)))
}

// lostDiversity: the members of a group produce the same output, unlike before.
func lostDiversity(v *view) *finding {
	different := v.series("different", func(it *run.Iteration) float64 { return it.Outputs.Different })
	if !v.windows(2) || v.last().Outputs.Words == 0 || v.last().Rollout.Episodes <= v.last().Outputs.Groups {
		return nil
	}
	now, before := v.tail(different), v.head(different)
	if before < 0.5 || now > v.c.Thresholds.LostDiversity*before || v.solved() {
		return nil
	}
	f := v.text(1, 1, fmt.Sprintf("%.0f %% of a group's outputs are distinct; it was %.0f %%", 100*now, 100*before))
	f.value, f.threshold = now/before, v.c.Thresholds.LostDiversity
	return f
}

// length: outputs became far longer or shorter while the score rose.
func length(v *view) *finding {
	words := v.series("words", func(it *run.Iteration) float64 { return it.Outputs.Words })
	if !v.windows(2) || v.head(words) == 0 || !v.rose(v.score) {
		return nil
	}
	factor := v.tail(words) / v.head(words)
	if limit := v.c.Thresholds.Length; factor < limit && factor > 1/limit {
		return nil
	}
	return &finding{run.Warn, factor, v.c.Thresholds.Length, fmt.Sprintf(
		"outputs went from %.0f to %.0f words while the mean score rose from %.3g to %.3g", v.head(words), v.tail(words), v.head(v.score), v.tail(v.score))}
}

// text is a finding about outputs: an alarm if the score rose meanwhile.
func (v *view) text(got, threshold float64, evidence string) *finding {
	if got < threshold {
		return nil
	}
	if v.rose(v.score) {
		return &finding{run.Alert, got, threshold, evidence + fmt.Sprintf(", while the mean score rose from %.3g to %.3g", v.head(v.score), v.tail(v.score))}
	}
	return &finding{run.Warn, got, threshold, evidence}
}

func abs(x float64) float64 { return max(x, -x) }
