package evidence

import (
	"cmp"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/base/attempts"
)

// Difference is by how much two policies differ in one metric, over the
// episodes that have it.
type Difference struct {
	Name       string  `json:"name"`
	Before     float64 `json:"before"` // means
	After      float64 `json:"after"`
	Difference float64 `json:"difference"` // after − before
	// Interval is the bootstrap's, at 95 %.
	Interval run.Interval `json:"interval"`
	// Relative is the difference over |before|; nil where that is 0.
	Relative *float64 `json:"relative,omitempty"`
	// Effect is Cohen's h of shares (metrics that are 0 or 1) and Hedges' g of all else; nil if nothing
	// varies.
	Effect *float64 `json:"effect,omitempty"`
	// PValue is two-sided, by Test.
	PValue float64 `json:"p_value"`
	Test   string  `json:"p_value_test"`
}

// The metrics that every evaluation has.
const (
	Success = "success"
	Return  = "return"
	length  = "length"
	// WinRate is how often episodes beat those of the reference policy, which a reward
	// compared them with. Only evaluations by such rewards have it.
	WinRate = "win_rate"
)

// seed is the seed of all resampling, so that a comparison depends on its files
// alone.
const seed = 1

// column is a metric of the episodes that have it, with what each counts for:
// its start, or its task if tasks is set.
type column struct {
	x     []float64
	units []string
	tasks bool
}

// read gives a metric of an episode, if it has it.
type read func(run.Played) (float64, bool)

// of reads the metric of a name.
func of(name string) read {
	return func(e run.Played) (float64, bool) { return value(e, name) }
}

func (read read) of(all []run.Played) (c column) {
	for _, e := range all {
		if v, ok := read(e); ok {
			c.x, c.units = append(c.x, v), append(c.units, e.Unit())
			c.tasks = c.tasks || e.Cluster != ""
		}
	}
	return c
}

// differences compares every metric that both have.
func differences(before, after []run.Played, paired bool) []Difference {
	names := map[string]bool{}
	for _, e := range slices.Concat(before, after) {
		for name := range e.Metrics {
			names[name] = true
		}
	}
	list := []Difference{
		difference(Success, before, after, paired, of(Success)),
		difference(Return, before, after, paired, of(Return)),
		difference(length, before, after, paired, of(length)),
	}
	for _, name := range append([]string{WinRate}, slices.Sorted(maps.Keys(names))...) {
		b, a := before, after
		if paired {
			b, a = both(before, after, of(name))
		}
		if len(of(name).of(b).x) > 0 && len(of(name).of(a).x) > 0 {
			list = append(list, difference(name, b, a, paired, of(name)))
		}
	}
	return list
}

// attempted compares pass@k and pass^k for the k that both scores have. Each task counts once,
// and both are compared task by task if they attempted the same ones.
func attempted(before, after *run.Evaluation) (list []Difference) {
	var known []string
	for _, m := range before.Score.Pass {
		if slices.ContainsFunc(after.Score.Pass, func(n run.Metric) bool { return n.Name == m.Name }) {
			known = append(known, m.Name)
		}
	}
	ks := attempts.K(known)
	for _, name := range []func(int) string{attempts.Any, attempts.All} {
		for _, k := range ks {
			b, a := passes(before, k), passes(after, k)
			paired := maps.Equal(starts(before.Episodes), starts(after.Episodes))
			if paired { // unscored attempts may leave a task out of one of them
				b, a = started(b, starts(a)), started(a, starts(b))
			}
			if len(b) > 0 && len(a) > 0 {
				list = append(list, difference(name(k), b, a, paired, of(name(k))))
			}
		}
	}
	return list
}

// passes returns an episode for each task, sorted by start, whose metrics are its pass@k and
// pass^k.
func passes(e *run.Evaluation, k int) (tasks []run.Played) {
	var tally attempts.Tally
	for _, x := range e.Episodes {
		tally.Add(x.Start, x.Cluster, x.Scored, x.Success)
	}
	found := tally.Of(k)
	for i, task := range found.Tasks {
		tasks = append(tasks, run.Played{Start: task, Cluster: found.Units[i], Metrics: map[string]float64{attempts.Any(k): found.Any[i], attempts.All(k): found.All[i]}})
	}
	slices.SortFunc(tasks, func(x, y run.Played) int { return cmp.Compare(x.Start, y.Start) })
	return tasks
}

// starts returns the starts of episodes.
func starts(all []run.Played) map[string]bool {
	known := map[string]bool{}
	for _, e := range all {
		if e.Start != "" {
			known[e.Start] = true
		}
	}
	return known
}

// started returns the episodes from one of the starts.
func started(all []run.Played, from map[string]bool) []run.Played {
	return slices.DeleteFunc(slices.Clone(all), func(e run.Played) bool { return !from[e.Start] })
}

// both are the pairs that both have a metric.
func both(before, after []run.Played, metric read) (b, a []run.Played) {
	for i := range before {
		_, one := metric(before[i])
		_, other := metric(after[i])
		if one && other {
			b, a = append(b, before[i]), append(a, after[i])
		}
	}
	return b, a
}

func difference(name string, before, after []run.Played, paired bool, metric read) Difference {
	b, a := metric.of(before), metric.of(after)
	d := Difference{Name: name}
	d.Before, _, _ = stats.Mean(b.x)
	d.After, _, _ = stats.Mean(a.x)
	d.Difference = d.After - d.Before
	if d.Before != 0 {
		relative := d.Difference / max(d.Before, -d.Before)
		d.Relative = &relative
	}
	if shares(b.x, a.x) {
		h := stats.EffectOfShares(d.Before, d.After)
		d.Effect = &h
	} else if g, ok := stats.Effect(b.x, a.x); ok {
		d.Effect = &g
	}
	if paired {
		d.inPairs(b, a)
	} else {
		d.apart(b, a)
	}
	return d
}

// shares reports whether all of x are 0 or 1, as successes are.
func shares(x ...[]float64) bool {
	return !slices.ContainsFunc(slices.Concat(x...), func(v float64) bool { return v != 0 && v != 1 })
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
