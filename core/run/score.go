package run

import (
	"maps"
	"slices"
)

// Interval is a 95 % confidence interval: low, high.
type Interval [2]float64

// Score is what an evaluation measured, over the scored episodes.
type Score struct {
	Success         float64  `json:"success"` // share of episodes
	SuccessInterval Interval `json:"success_interval"`
	Return          float64  `json:"return"` // mean sum of base rewards
	ReturnInterval  Interval `json:"return_interval"`
	Length          float64  `json:"length"` // mean steps
	LengthInterval  Interval `json:"length_interval"`
	Episodes        int      `json:"episodes"` // scored
	Unscored        int      `json:"unscored"`
	DistinctStarts  int      `json:"distinct_starts"`
	Metrics         []Metric `json:"metrics,omitempty"` // of the environment, by name
}

// Metric is what the environment measured, over the scored episodes that have
// it.
type Metric struct {
	Name     string   `json:"name"`
	Mean     float64  `json:"mean"`
	Interval Interval `json:"interval"`
	Episodes int      `json:"episodes"`
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
