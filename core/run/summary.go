package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Summary is summary.json: the results of a finished run.
type Summary struct {
	Stop       StopReason `json:"stop"`
	Iterations int        `json:"iterations"`     // iterations of the run
	Best       int        `json:"best_iteration"` // iteration whose checkpoint was evaluated
	EnvSteps   uint64     `json:"env_steps"`      // steps of training in the environment
	Episodes   uint64     `json:"episodes"`       // episodes of training

	// Baseline and Trained play the same starts of the test split, and Starts is
	// how many of them are new.
	Baseline Result  `json:"baseline"`
	Trained  Result  `json:"trained"`
	PValue   float64 `json:"p_value"`      // p-value of the difference in sampled success, two-sided
	Test     string  `json:"p_value_test"` // which test

	Starts   Starts         `json:"starts"`
	Outcomes map[string]int `json:"outcomes"` // training episodes with this outcome (reward.Outcome)
	Rewards  []Module       `json:"rewards"`
	// Digests are those of the evaluations in trajectories/, sha256:… by name.
	Digests map[string]string `json:"trajectories,omitempty"`
	// Cost is what the run used, without what it had to repeat after interruptions:
	// see Manifest.Repeated. Currency is that of its prices.
	Cost     Cost    `json:"cost,omitzero"`
	Currency string  `json:"currency,omitempty"`
	Time     Elapsed `json:"time"`
}

// Result is a policy's score when it samples, and when it takes its most likely
// action.
type Result struct {
	Score
	Greedy *Score `json:"greedy,omitempty"`
}

// Elapsed holds seconds, summed over interruptions.
type Elapsed struct {
	Training   float64 `json:"training"`   // seconds of training, summed over interruptions
	Evaluation float64 `json:"evaluation"` // seconds of the final evaluations, summed over interruptions
	CPU        CPU     `json:"cpu,omitzero"`
}

// StopReason is why training ended.
type StopReason string

// The closed set of reasons.
const (
	StopTarget     StopReason = "target"     // validation reached the target
	StopBeats      StopReason = "beats"      // validation is better than the baseline of train.stop.beats
	StopPlateau    StopReason = "plateau"    // validation stopped improving
	StopIterations StopReason = "iterations" // all iterations are done
	StopSteps      StopReason = "env_steps"  // the budget of environment steps is used up
	StopAlarm      StopReason = "alarm"      // a red flag of the monitor, if monitor.on_alarm is stop
)

// Interval is a 95 % confidence interval: low, high.
type Interval [2]float64

// Score is what an evaluation measured, over the scored episodes.
type Score struct {
	Success         float64  `json:"success"`          // share of scored episodes that succeeded
	SuccessInterval Interval `json:"success_interval"` // end of the 95 % interval of the success
	Return          float64  `json:"return"`           // mean sum of base rewards of an episode
	ReturnInterval  Interval `json:"return_interval"`  // end of the 95 % interval of the return
	Length          float64  `json:"length"`           // mean steps of an episode
	LengthInterval  Interval `json:"length_interval"`  // end of the 95 % interval of the length
	Episodes        int      `json:"episodes"`         // scored episodes
	Unscored        int      `json:"unscored"`         // episodes without a score
	DistinctStarts  int      `json:"distinct_starts"`  // different starts of the episodes
	// Clusters is the number of clusters in the intervals if episodes are not
	// clustered by start.
	Clusters int      `json:"clusters,omitempty"`
	Metrics  []Metric `json:"metrics,omitempty"` // of the environment and the reward, by name
	Wins     *Wins    `json:"wins,omitempty"`    // if the reward compares: against the reference policy
	Pass     []Metric `json:"pass,omitempty"`    // of repeated attempts: pass@k, and then pass^k
}

// Wins is how often a policy's episodes beat those of a reference policy, from the
// same starts, that a reward compared them with.
type Wins struct {
	Rate             float64  `json:"rate"`              // win rate against the reference policy; a tie counts one half
	Interval         Interval `json:"interval"`          // end of the 95 % interval of the win rate
	Strength         float64  `json:"strength"`          // difference in the model of Bradley and Terry, log-odds
	StrengthInterval Interval `json:"strength_interval"` // end of the 95 % interval of the difference
	PValue           float64  `json:"p_value"`           // p-value of a win rate of one half, two-sided
}

// Leading returns the share that decides which policy is better, its name and interval:
// the win rate if the reward compares, or else the success.
func (s Score) Leading() (name string, share float64, interval Interval) {
	if s.Wins != nil {
		return "win rate", s.Wins.Rate, s.Wins.Interval
	}
	return "success", s.Success, s.SuccessInterval
}

// String returns the win rate and the difference, with their intervals.
func (w Wins) String() string {
	return fmt.Sprintf("%.1f %% [%.1f, %.1f], Bradley–Terry %+.2f [%.2f, %.2f]", 100*w.Rate, 100*w.Interval[0], 100*w.Interval[1],
		w.Strength, w.StrengthInterval[0], w.StrengthInterval[1])
}

// Metric is what the environment or the reward measured, over the scored
// episodes that have it.
type Metric struct {
	Name     string   `json:"name"`
	Mean     float64  `json:"mean"`     // mean of what the environment or the reward measured
	Interval Interval `json:"interval"` // end of the 95 % interval of the mean
	Episodes int      `json:"episodes"` // scored episodes that have the measurement
}

// MetricNames returns the names of all metrics of scores, in order.
func MetricNames(scores ...Score) []string {
	names := map[string]bool{}
	for _, s := range scores {
		for _, m := range s.Metrics {
			names[m.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Metric returns the metric of a name, and whether s has it.
func (s Score) Metric(name string) (Metric, bool) {
	for _, m := range s.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// maxNames bounds how many metrics a summary of many episodes has.
const maxNames = 256

// Widespread returns the names of the metrics that a summary has, in order, given
// how many episodes have each: all of them, or the 256 most frequent ones if a
// reward uses different names in each episode.
func Widespread(episodes map[string]int) []string {
	names := slices.Sorted(maps.Keys(episodes))
	if len(names) > maxNames {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(episodes[b], episodes[a]) })
		names = names[:maxNames]
		slices.Sort(names)
	}
	return names
}
