// Package agreement measures whether a judge can be trusted: how well its scores agree with
// labels of the same trajectories, and whether its scores change when the trajectories are
// shown in reverse order.
package agreement

import (
	"context"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/judge"
)

// Labeled is a group whose members each have a label, higher for better.
type Labeled struct {
	rl.Group
	Label []float64 // [members], finite
}

// Judged is a labeled group with the scores of a judge.
type Judged struct {
	// Cluster names what makes groups dependent, such as their task; groups with "" are
	// independent.
	Cluster string
	Label   []float64 // [members]
	// Score and Reversed are the scores in the two orders, or nil if the judge gave none.
	// Place is the position of each member when Score was given; identical members share a
	// place.
	Score, Reversed []float64
	Place           []int
}

// Ask has a judge score labeled groups in both orders. The two judges differ only in
// judge.Options.Reversed; reversed is nil for a judge that sees one trajectory at a time. Ask
// calls done, if it is not nil, with the number of trajectories judged so far. The returned
// evaluations are those of the first order, followed by those of the second.
func Ask(ctx context.Context, forward, reversed reward.Scorer, groups []Labeled, done func(int)) ([]Judged, []reward.Evaluation, error) {
	out := make([]Judged, len(groups))
	plain := make([]*rl.Group, len(groups))
	for i := range groups {
		plain[i] = &groups[i].Group
		out[i] = Judged{Cluster: groups[i].Task.ID, Label: groups[i].Label}
	}
	first, err := evaluate(ctx, forward, plain, 0, done)
	if err != nil {
		return nil, nil, err
	}
	all := first
	for i, e := range split(first, plain) {
		if out[i].Score = scores(e); out[i].Score != nil {
			out[i].Place = places(e)
		}
	}
	if reversed != nil {
		second, err := evaluate(ctx, reversed, plain, len(first), done)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, second...)
		for i, e := range split(second, plain) {
			out[i].Reversed = scores(e)
		}
	}
	return out, all, nil
}

// part is the reward's name in the notes of an evaluation.
const part = "judge"

func evaluate(ctx context.Context, j reward.Scorer, groups []*rl.Group, before int, done func(int)) ([]reward.Evaluation, error) {
	return reward.NewPool([]reward.Weighted{{Scorer: j, Weight: 1, Name: part}}, 0).Evaluate(ctx, groups, func(n int) {
		if done != nil {
			done(before + n)
		}
	})
}

// split returns the evaluations of each group.
func split(all []reward.Evaluation, groups []*rl.Group) (out [][]reward.Evaluation) {
	for _, g := range groups {
		n := len(g.Trajectories)
		out, all = append(out, all[:n]), all[n:]
	}
	return out
}

// scores returns the scores of a group, or nil if any member has none.
func scores(evaluations []reward.Evaluation) (out []float64) {
	for _, e := range evaluations {
		if e.Outcome != reward.Scored {
			return nil
		}
		out = append(out, e.Result.Score)
	}
	return out
}

// places returns the position of each member in the question, or nil if the judge saw each
// member alone.
func places(evaluations []reward.Evaluation) (out []int) {
	for _, e := range evaluations {
		note, err := judge.ReadNote(e.Notes[part])
		if err != nil || note.Of == 1 {
			return nil
		}
		out = append(out, note.Place())
	}
	return out
}

// Estimate is a figure with its interval at stats.Confidence. N is the number of observations.
type Estimate struct {
	Value    float64    `json:"value"`
	Interval [2]float64 `json:"interval"`
	N        int        `json:"n"`
}

// mean estimates the mean of values, which range from least to most. If every value is at one
// of these bounds, the interval is that of a proportion, which does not shrink to a point when
// all values are equal.
func mean(values []float64, clusters []string, least, most float64) *Estimate {
	if len(values) == 0 {
		return nil
	}
	c, span := stats.ClusterBy(clusters), most-least
	atMost, ends := make([]bool, len(values)), true
	for i, v := range values {
		atMost[i] = v == most
		ends = ends && (v == least || v == most)
	}
	e := Estimate{N: len(values)}
	if ends {
		share, low, high := c.Share(atMost)
		e.Value, e.Interval = least+span*share, [2]float64{least + span*low, least + span*high}
		return &e
	}
	e.Value, e.Interval[0], e.Interval[1] = c.Mean(values)
	e.Interval = [2]float64{max(least, e.Interval[0]), min(most, e.Interval[1])}
	return &e
}
