package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/runs/spent"
)

// learningCurve shows the success of training episodes and of validations.
func learningCurve(metrics []run.Iteration, width, height float64) chart {
	maxX := 1.0
	for _, it := range metrics {
		maxX = max(maxX, float64(it.Iteration))
	}
	c, x, y := newChart("Success", width, height, maxX, 0, 1, percent)
	training := pick(metrics, "training episodes", "faint b", func(r *run.Iteration) float64 { return r.Rollout.Success })
	c.draw(training, x, y, percent)
	mean := training
	mean.name, mean.class, mean.y = "training, smoothed", "b", smooth(training.y, max(1, len(training.y)/60))
	c.draw(mean, x, y, percent)
	validation := series{name: "validation", class: "a"}
	for _, it := range metrics {
		v := it.Validation
		if v == nil {
			continue
		}
		at := float64(it.Iteration)
		name, share, interval := v.Leading()
		if v.Wins != nil {
			validation.name = "validation: " + name
		}
		validation.x, validation.y = append(validation.x, at), append(validation.y, share)
		m := mark{
			X: x.at(at), Y: y.at(share), Low: y.at(interval[0]), High: y.at(interval[1]), Class: "a",
			Text: fmt.Sprintf("iteration %d: %s [%s, %s] of %d", it.Iteration, percent(share), percent(interval[0]), percent(interval[1]), v.Episodes),
		}
		c.Marks = append(c.Marks, m)
	}
	c.draw(validation, x, y, percent)
	best := -1
	n := 0
	for _, it := range metrics {
		if it.Validation == nil {
			continue
		}
		if it.Best {
			best = n
		}
		n++
	}
	if best >= 0 {
		c.Marks[best].Class = "best"
		c.Marks[best].Text += " — the best checkpoint"
	}
	return c
}

// pick returns a value for every training iteration.
func pick(metrics []run.Iteration, name, class string, value func(*run.Iteration) float64) series {
	s := series{name: name, class: class}
	for i := range metrics {
		if it := &metrics[i]; it.Rollout != nil {
			s.x, s.y = append(s.x, float64(it.Iteration)), append(s.y, value(it))
		}
	}
	return s
}

func figures(metrics []run.Iteration) []section {
	one := func(title string, format func(float64) string, value func(*run.Iteration) float64) chart {
		return small(title, format, pick(metrics, "", "a", value))
	}
	all := []section{
		{"Episodes", "What the policy learned from, iteration by iteration.", []chart{
			one("Return", number, func(r *run.Iteration) float64 { return r.Rollout.Return }),
			one("Length in steps", number, func(r *run.Iteration) float64 { return r.Rollout.Length }),
			one("Actions without effect", percent, func(r *run.Iteration) float64 { return r.Rollout.Invalid }),
			one("Environment steps per second", number, func(r *run.Iteration) float64 { return r.Time.StepsPerSecond }),
		}},
		{"Credit", "GiGPO compares whole episodes within a group, and single steps that were taken in the same state (an anchor group). Steps alone in their anchor group get no step advantage; groups in which all members score the same get no episode advantage.", []chart{
			one("Steps with a step advantage", percent, func(r *run.Iteration) float64 { return r.Advantage.StepShare }),
			one("Groups with equal scores", percent, func(r *run.Iteration) float64 { return r.Advantage.ZeroVarianceRate }),
			one("Steps alone in their anchor group", percent, func(r *run.Iteration) float64 { return r.Advantage.SingletonShare }),
			one("Steps in an anchor group, mean", number, func(r *run.Iteration) float64 { return r.Advantage.AnchorSize }),
			small("Advantage", number,
				pick(metrics, "std", "a", func(r *run.Iteration) float64 { return r.Advantage.Std }),
				pick(metrics, "mean", "b", func(r *run.Iteration) float64 { return r.Advantage.Mean })),
		}},
		{"Update", "What the learner did with it.", []chart{
			one("Entropy, nats", number, func(r *run.Iteration) float64 { return r.Update.Entropy }),
			one("KL of an update, nats", number, func(r *run.Iteration) float64 { return r.Update.KL }),
			one("Clipped", percent, func(r *run.Iteration) float64 { return r.Update.ClipFraction }),
			one("Gradient norm", number, func(r *run.Iteration) float64 { return r.Update.GradNorm }),
			one("Learning rate", number, func(r *run.Iteration) float64 { return r.Update.LearningRate }),
		}},
	}
	if slices.ContainsFunc(metrics, func(r run.Iteration) bool { return r.Sampling != nil }) {
		all = append(all, tasks(metrics))
	}
	if slices.ContainsFunc(metrics, func(r run.Iteration) bool { return r.Rollout != nil && r.Rollout.StaleGroups > 0 }) {
		all = append(all, section{"Stale groups", "Merit dropped groups in which weights older than train.max_staleness updates decided a step. Short and long, low and high are relative to the means of all played episodes: if the shares differ much, training sees an unrepresentative part of the tasks.", []chart{
			one("Groups dropped", number, func(r *run.Iteration) float64 { return float64(r.Rollout.StaleGroups) }),
			small("Dropped, by length", percent,
				pick(metrics, "long", "a", func(r *run.Iteration) float64 { return r.Rollout.StaleLong }),
				pick(metrics, "short", "b", func(r *run.Iteration) float64 { return r.Rollout.StaleShort })),
			small("Dropped, by score", percent,
				pick(metrics, "high", "a", func(r *run.Iteration) float64 { return r.Rollout.StaleHigh }),
				pick(metrics, "low", "b", func(r *run.Iteration) float64 { return r.Rollout.StaleLow })),
		}})
	}
	if !slices.ContainsFunc(metrics, func(r run.Iteration) bool { return r.Update != nil && r.Update.Ratio != 0 }) {
		return all
	}
	return append(all, section{"Engine", "Whether the learner and the sampler have the same weights: the probabilities that each gives the same tokens, before the update.", []chart{
		small("Difference of log-probabilities, nats", number,
			pick(metrics, "largest", "a", func(r *run.Iteration) float64 { return r.Update.DriftMax }),
			pick(metrics, "mean", "b", func(r *run.Iteration) float64 { return r.Update.Drift })),
		one("Learner ÷ sampler", number, func(r *run.Iteration) float64 { return r.Update.Ratio }),
		one("Tokens with a gradient", number, func(r *run.Iteration) float64 { return float64(r.Update.Tokens) }),
	}})
}

// tasks is the section about the tasks that a run draws from a set.
func tasks(metrics []run.Iteration) section {
	count := func(name, class string, value func(*sampling.Metrics) int) series {
		return pick(metrics, name, class, func(r *run.Iteration) float64 { return float64(value(r.Sampling)) })
	}
	s := section{"Tasks", "The set of tasks that training draws from. A group with equal scores teaches estimators that compare members nothing.", []chart{
		small("Groups with equal scores, of all played", percent, pick(metrics, "", "a", func(r *run.Iteration) float64 { return r.Sampling.Equal })),
		small("Tasks that were played", number, count("", "a", func(m *sampling.Metrics) int { return m.Played })),
	}}
	if slices.ContainsFunc(metrics, func(r run.Iteration) bool { return r.Sampling != nil && r.Sampling.Active > 0 }) {
		s.Charts = append(s.Charts,
			small("Tasks that do not rest", number, count("", "a", func(m *sampling.Metrics) int { return m.Active })),
			small("Resting tasks", number,
				count("never solved", "a", func(m *sampling.Metrics) int { return m.Unsolved }),
				count("always solved", "b", func(m *sampling.Metrics) int { return m.Solved })))
	}
	return s
}

// costs returns what the run used; of an unfinished run, what its iterations used.
func costs(m *run.Manifest, s *run.Summary, metrics []run.Iteration) spent.Table {
	if s != nil {
		return spent.Finished(s, m).Table()
	}
	of := spent.Of{Repeated: m.Repeated}
	for _, it := range metrics {
		of.Cost, of.CPU = of.Cost.Plus(it.Cost), of.CPU.Plus(it.Time.CPU)
	}
	return of.Table()
}

// outcomes adds up the outcomes of all training episodes, most frequent first.
func outcomes(metrics []run.Iteration) []share {
	sum := map[string]float64{}
	for _, it := range metrics {
		for name, n := range it.Outcomes {
			sum[name] += float64(n)
		}
	}
	var all []share
	for name, n := range sum {
		all = append(all, share{Name: name, Value: n})
	}
	slices.SortFunc(all, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name))
	})
	return parts(all)
}

// stages adds up the seconds of each stage.
func stages(metrics []run.Iteration) []share {
	all := []share{{Name: "collect"}, {Name: "score"}, {Name: "align"}, {Name: "advantage"}, {Name: "update"}, {Name: "record"}, {Name: "validate"}}
	for _, it := range metrics {
		t := it.Time
		for i, v := range []float64{t.Collect, t.Score, t.Align, t.Advantage, t.Update, t.Record, t.Validate} {
			all[i].Value += v
		}
	}
	return parts(all)
}

func parts(all []share) []share {
	total := 0.0
	for _, s := range all {
		total += s.Value
	}
	for i := range all {
		if total > 0 {
			all[i].Share = all[i].Value / total
		}
	}
	return all
}
