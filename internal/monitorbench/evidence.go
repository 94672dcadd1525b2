package monitorbench

import (
	"math"
	"slices"

	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/run"
)

// Flag is a red flag as a number that its threshold is compared with.
type Flag struct {
	Name string
	// At is its threshold of a new configuration, as evidence.
	At func(t monitor.Thresholds) float64
	// set makes the threshold so sensitive that the flag reports its number whenever its
	// other conditions hold.
	set func(t *monitor.Thresholds)
	// of makes evidence of the number, so that more of it is worse; nil is the number itself.
	of func(value float64) float64
}

// least is a threshold that every positive number is above, and most one that every number is below.
const (
	least = 1e-9
	most  = 1e6
)

func less(x float64) float64 { return -x }

// factor is how far a factor is from 1, in either direction.
func factor(x float64) float64 { return math.Exp(math.Abs(math.Log(x))) }

// Flags returns the red flags. reward_flat and plateau have no number but that of the iterations that
// they wait for, which is their evidence.
func Flags() []Flag {
	type T = monitor.Thresholds
	return []Flag{
		{Name: "reward_flat", At: func(t T) float64 { return float64(t.RewardFlat) }, set: func(t *T) { t.RewardFlat = 2 }},
		{Name: "plateau", At: func(t T) float64 { return float64(t.Plateau) }, set: func(t *T) { t.Plateau = 10 }},
		{Name: "oscillation", At: func(T) float64 { return 4 }, set: func(*T) {}},
		{Name: "kl", At: func(t T) float64 { return t.KLWarn }, set: func(t *T) { t.KLWarn, t.KLAlarm = least, most }},
		{Name: "entropy_collapse", At: func(t T) float64 { return -t.EntropyCollapse }, set: func(t *T) { t.EntropyCollapse = most }, of: less},
		{Name: "value_loss", At: func(t T) float64 { return t.ValueLoss }, set: func(t *T) { t.ValueLoss = least }},
		{Name: "gradient_explosion", At: func(t T) float64 { return t.GradientExplosion }, set: func(t *T) { t.GradientExplosion = least }},
		{Name: "no_variance", At: func(t T) float64 { return t.NoVariance }, set: func(t *T) { t.NoVariance = least }},
		{Name: "singleton_anchors", At: func(t T) float64 { return t.SingletonAnchors }, set: func(t *T) { t.SingletonAnchors = least }},
		{Name: "held_out_gap", At: func(t T) float64 { return t.HeldOutGap }, set: func(t *T) { t.HeldOutGap = least }},
		{Name: "unscored", At: func(t T) float64 { return t.UnscoredWarn }, set: func(t *T) { t.UnscoredWarn, t.UnscoredAlarm = least, most }},
		{Name: "divergence", At: func(t T) float64 { return t.Divergence }, set: func(t *T) { t.Divergence = least }},
		{Name: "swapped_truth", At: func(t T) float64 { return t.SwappedTruth }, set: func(t *T) { t.SwappedTruth = least }},
		{Name: "reward_jump", At: func(t T) float64 { return t.RewardJump }, set: func(t *T) { t.RewardJump = least }},
		{Name: "perfect_scores", At: func(t T) float64 { return t.PerfectScores }, set: func(t *T) { t.PerfectScores = least }},
		{Name: "repetition", At: func(t T) float64 { return t.Repetition }, set: func(t *T) { t.Repetition = least }},
		{Name: "surface", At: func(t T) float64 { return t.Surface }, set: func(t *T) { t.Surface = least }},
		{Name: "boilerplate", At: func(t T) float64 { return t.Boilerplate }, set: func(t *T) { t.Boilerplate = least }},
		{Name: "lost_diversity", At: func(t T) float64 { return -t.LostDiversity }, set: func(t *T) { t.LostDiversity = most }, of: less},
		{Name: "length", At: func(t T) float64 { return t.Length }, set: func(t *T) { t.Length = 1 + least }, of: factor},
	}
}

// none is the evidence where a flag has none.
var none = math.Inf(-1)

// Evidence returns the evidence of each flag at each iteration from 1 on.
func Evidence(lines []run.Iteration) [][]float64 {
	c := monitor.Default()
	c.Repeat = 1 // every iteration reports
	all, flags := make([][]float64, len(Flags())), Flags()
	for i, f := range flags {
		f.set(&c.Thresholds)
		all[i] = slices.Repeat([]float64{none}, len(lines)-1)
	}
	for n := 2; n <= len(lines); n++ {
		for _, a := range c.Look(lines[:n]) {
			i := slices.IndexFunc(flags, func(f Flag) bool { return f.Name == a.Name })
			x := a.Value
			switch {
			case a.Name == "reward_flat":
				x = float64(n - 1)
			case flags[i].of != nil:
				x = flags[i].of(x)
			}
			all[i][n-2] = x
		}
	}
	plateaus(lines, all[slices.IndexFunc(flags, func(f Flag) bool { return f.Name == "plateau" })])
	return all
}

// plateaus fills in for how many iterations the flag could have waited.
func plateaus(lines []run.Iteration, evidence []float64) {
	c := monitor.Default()
	c.Repeat = 1
	for _, f := range Flags() {
		if f.Name != "plateau" {
			c.Off = append(c.Off, f.Name)
		}
	}
	for _, wait := range []int{10, 20, 30, 50, 70} {
		c.Thresholds.Plateau = wait
		for n := range evidence {
			if evidence[n] != none && len(c.Look(lines[:n+2])) > 0 {
				evidence[n] = float64(wait)
			}
		}
	}
}

// Fall returns the iteration at which the true metric has fallen: from there on to the end of the run, its
// mean over five validations stays at least 30 %, and 0.1, below the best such mean before. 0 means that it has
// not fallen.
func Fall(truth []float64) int {
	const few = 5
	var means []float64
	for i := few; i <= len(truth); i++ {
		sum := 0.0
		for _, x := range truth[i-few : i] {
			sum += x
		}
		means = append(means, sum/few)
	}
	best, fallen := means[0], 0
	for i, x := range means {
		best = max(best, x)
		switch low := x <= min(0.7*best, best-0.1); {
		case !low:
			fallen = 0
		case fallen == 0:
			fallen = (i + few - 1) * evaluateEvery
		}
	}
	return fallen
}

// alarms returns the red flags that a new configuration raises.
func alarms(lines []run.Iteration) (all []Alarm) {
	c := monitor.Default()
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].Alarms = c.Look(lines[:i+1])
		for _, a := range lines[i].Alarms {
			all = append(all, Alarm{a.Name, a.Iteration})
		}
	}
	return all
}
