package train

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/base/sampling"
	json "github.com/merit-rl/merit/internal/base/strictjson"
)

// episode holds the results of a trajectory that count.
type episode struct {
	start   string // see startOf
	cluster string // shared by episodes that are not independent; "" means that the start is the cluster
	scored  bool
	success bool
	sum     float64 // of base rewards
	length  int
	won     *float64           // see rl.Trajectory.Won
	metrics map[string]float64 // of the environment and the reward
}

// unit returns the unit of e in intervals and tests: its cluster, or its start.
func (e episode) unit() string { return cmp.Or(e.cluster, e.start) }

// episodes returns one episode for each trajectory of a batch. A success is an
// episode that the environment terminated with a score above the threshold of c.
func episodes(b *credit.Batch, c Config) []episode {
	out := make([]episode, len(b.Trajectories))
	for i, t := range b.Trajectories {
		from, to := b.First[i], b.First[i+1]
		e := episode{start: startOf(t), cluster: c.Cluster.of(t), length: to - from, won: t.Won, metrics: t.Measured()}
		if from < to && b.Rows.Scored[from] {
			e.scored = true
			e.success = t.StopReason == rl.StopTerminated && b.Rows.Score[from] > c.SuccessScore
			for _, r := range b.Rows.Reward[from:to] {
				e.sum += r
			}
		}
		out[i] = e.within(t)
	}
	return out
}

// fromStart returns those of x, one for each trajectory, whose trajectory began at the start:
// how often branches succeed says where the policy was continued, and not how good it is.
func fromStart[T any](x []T, trajectories []*rl.Trajectory) []T {
	branches := func(t *rl.Trajectory) bool { return t.BranchOf != "" }
	if !slices.ContainsFunc(trajectories, branches) {
		return x
	}
	var out []T
	for i, t := range trajectories {
		if !branches(t) {
			out = append(out, x[i])
		}
	}
	return out
}

// within returns e with the figures of its environment among its metrics, if t says in which
// environment of a mixture it was played.
func (e episode) within(t *rl.Trajectory) episode {
	var name string
	if json.Unmarshal(t.Metadata[sampling.PartKey], &name) != nil || name == "" {
		return e
	}
	own := make(map[string]float64, len(e.metrics)+3)
	maps.Copy(own, e.metrics)
	own["success_"+name], own["return_"+name], own["length_"+name] = 0, e.sum, float64(e.length)
	if e.success {
		own["success_"+name] = 1
	}
	e.metrics = own
	return e
}

// byEnvironment adds the means of the figures of every environment of a mixture to o.
func byEnvironment(o *run.Outputs, all []episode, trajectories []*rl.Trajectory) {
	if o == nil {
		return
	}
	means := map[string]*mean{}
	for i, e := range all {
		if !e.scored || trajectories[i].Metadata[sampling.PartKey] == nil {
			continue
		}
		for name, x := range e.metrics {
			if _, measured := o.Metrics[name]; measured {
				continue
			}
			if means[name] == nil {
				means[name] = new(mean)
			}
			means[name].add(x)
		}
	}
	for name, m := range means {
		if o.Metrics == nil {
			o.Metrics = map[string]float64{}
		}
		o.Metrics[name] = m.value()
	}
}

// score summarizes the scored episodes. Episodes of the same start or cluster
// are not independent, and the intervals take that into account.
func score(all []episode) run.Score {
	var sums, lengths []float64
	var successes []bool
	var keys []string
	for _, e := range all {
		if e.scored {
			sums, lengths = append(sums, e.sum), append(lengths, float64(e.length))
			successes, keys = append(successes, e.success), append(keys, e.unit())
		}
	}
	s := run.Score{Clusters: clusters(all), Episodes: len(sums), Unscored: len(all) - len(sums), DistinctStarts: len(distinct(all))}
	c := stats.ClusterBy(keys)
	s.Success, s.SuccessInterval[0], s.SuccessInterval[1] = c.Share(successes)
	s.Return, s.ReturnInterval[0], s.ReturnInterval[1] = c.Mean(sums)
	s.Length, s.LengthInterval[0], s.LengthInterval[1] = c.Mean(lengths)
	s.Metrics, s.Wins = metrics(all), wins(all)
	return s
}

// clusters counts the clusters of all episodes; it is 0 if they cluster by
// start.
func clusters(all []episode) int {
	seen := map[string]bool{}
	for _, e := range all {
		if e.cluster != "" {
			seen[e.cluster] = true
		}
	}
	return len(seen)
}

// metrics summarizes the measured metrics of the episodes.
func metrics(all []episode) []run.Metric {
	values, keys, counts := map[string][]float64{}, map[string][]string{}, map[string]int{}
	for _, e := range all {
		if !e.scored {
			continue
		}
		for name, v := range e.metrics {
			values[name], keys[name] = append(values[name], v), append(keys[name], e.unit())
			counts[name]++
		}
	}
	var out []run.Metric
	for _, name := range run.Widespread(counts) {
		m := run.Metric{Name: name, Episodes: len(values[name])}
		m.Mean, m.Interval[0], m.Interval[1] = stats.ClusterBy(keys[name]).Mean(values[name])
		out = append(out, m)
	}
	return out
}

// compare tests whether two policies that played the same starts, in the same
// order, succeed equally often, or, if a reward compared after with before, whether
// after wins as often as it loses. It returns the name of the test and the p-value.
func compare(before, after []episode) (test string, p float64) {
	if w := wins(after); w != nil {
		return testWins, w.PValue
	}
	var a, b []bool
	var keys []string
	for i := range before {
		if before[i].scored && after[i].scored {
			a, b = append(a, before[i].success), append(b, after[i].success)
			keys = append(keys, after[i].unit())
		}
	}
	test = "exact McNemar, paired by start, two-sided"
	switch {
	case clusters(after) > 0:
		test = "exact sign-flip of the differences of tasks, two-sided"
	case len(distinct(after)) < len(after):
		test = "exact sign-flip of the differences of starts, two-sided"
	}
	return test, stats.ClusterBy(keys).Paired(a, b)
}

// selectEpisodes returns the episodes of an iteration that c keeps, in order, with those that
// kept branches left.
// before is the number of episodes of earlier iterations.
func selectEpisodes(c run.SaveConfig, before uint64, all []*rl.Trajectory) []*rl.Trajectory {
	keep := make([]bool, len(all))
	var scored []int
	for i, t := range all {
		failed := t.Outcome != string(reward.Scored)
		keep[i] = c.Every > 0 && (before+uint64(i))%uint64(c.Every) == 0 || c.Failed && failed
		if !failed && t.Evaluation != nil {
			scored = append(scored, i)
		}
	}
	slices.SortStableFunc(scored, func(a, b int) int {
		return cmp.Compare(all[b].Evaluation.Score, all[a].Evaluation.Score)
	})
	for _, i := range scored[:min(c.Best, len(scored))] {
		keep[i] = true
	}
	for _, i := range scored[max(0, len(scored)-c.Worst):] {
		keep[i] = true
	}
	for _, g := range mostCredited(all, c.Groups) {
		for i := g.from; i < g.to; i++ {
			keep[i] = true
		}
	}
	return chosen(keep, all)
}

// chosen returns the episodes to keep and those that they left, which precede them. It keeps the
// branches of a group whose members are all kept, so that its advantages can be computed again.
func chosen(keep []bool, all []*rl.Trajectory) (out []*rl.Trajectory) {
	left, partly := map[string]bool{}, map[string]bool{}
	for i := len(all) - 1; i >= 0; i-- {
		t := all[i]
		if keep[i] = keep[i] || left[t.ID]; keep[i] && t.BranchOf != "" {
			left[t.BranchOf] = true
		}
		if t.BranchOf == "" && !keep[i] {
			partly[t.Group] = true
		}
	}
	for i, t := range all {
		if keep[i] || t.BranchOf != "" && !partly[t.Group] {
			out = append(out, t)
		}
	}
	return out
}

// span is the range of a group's members in a batch.
type span struct {
	from, to int
	most     float64 // largest |advantage| of a step
}

// mostCredited returns n groups of all, which is group-major: those with the
// largest advantages, and of equal ones the earlier.
func mostCredited(all []*rl.Trajectory, n int) []span {
	var groups []span
	for i, t := range all {
		if i == 0 || t.Group != all[i-1].Group {
			groups = append(groups, span{from: i})
		}
		g := &groups[len(groups)-1]
		g.to = i + 1
		for k := range t.Steps {
			if c := t.Steps[k].Credit; c != nil {
				g.most = max(g.most, math.Abs(c.Advantage))
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b span) int { return cmp.Compare(b.most, a.most) })
	return groups[:min(n, len(groups))]
}
