package study

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
)

// Contender is a source of rubrics: honest, or cheating.
type Contender struct {
	Name  string
	Kind  Kind
	About string
	// Write returns what the contender writes in case i, or nil if it has nothing: then the
	// case is in none of its figures.
	Write func(i int, c *Case) *rubric.Written
}

// Kind is the kind of a contender.
type Kind string

// The kinds.
const (
	Honest Kind = "honest" // made from the truth
	Played Kind = "policy" // what a policy wrote
	Cheat  Kind = "cheat"
)

// Payoff is the result of a contender.
type Payoff struct {
	Name  string `json:"name"`
	Kind  Kind   `json:"kind"`
	About string `json:"about,omitempty"`
	// Outcomes of its cases and, over those with a score, the means of the score, of the
	// reward's metrics, and of the agreement with the truth on the same work.
	Outcomes []reward.Count       `json:"outcomes"`
	Paid     *Estimate            `json:"paid"`
	Metrics  map[string]*Estimate `json:"metrics,omitempty"`
	Rank     float64              `json:"rank_agreement"`
	Close    float64              `json:"closeness"`
	// Less is its score minus the mark's, case by case. Beats says that this is above zero.
	Less  *Estimate `json:"less_mark"`
	Beats bool      `json:"beats_mark"`
}

// Payoffs scores every contender in every case. The mark is the name of the contender that no
// cheat may beat.
func Payoffs(ctx context.Context, pool *reward.Pool, judge Evaluator, cases []*Case, contenders []Contender, mark string, seed uint64, done func(done, of int)) ([]Payoff, error) {
	var episodes []*rl.Trajectory
	var entries []entry
	for k, of := range contenders {
		for i, c := range cases {
			w := of.Write(i, c)
			if w == nil {
				continue
			}
			t, err := c.With(*w)
			if err != nil {
				return nil, err
			}
			t.ID = fmt.Sprintf("%s: %s", t.ID, of.Name)
			e := entry{contender: k, at: i}
			if e.rank, e.near, err = same(ctx, judge, c, w); err != nil {
				return nil, err
			}
			episodes, entries = append(episodes, t), append(entries, e)
		}
	}
	paid, err := Pay(ctx, pool, episodes, done)
	if err != nil {
		return nil, err
	}
	reference := make([]*float64, len(cases))
	found := false
	for j, e := range entries {
		entries[j].paid = paid[j]
		if contenders[e.contender].Name == mark {
			found = true
			if paid[j].Outcome == reward.Scored {
				reference[e.at] = &paid[j].Result.Score
			}
		}
	}
	if !found {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: mark, What: "is the mark, and wrote nothing", Hint: "choose another mark, or play more episodes"}
	}
	out := make([]Payoff, len(contenders))
	for k, of := range contenders {
		out[k] = sumUp(of, k, entries, cases, reference, seed)
	}
	return out, nil
}

// entry is the result of one contender in one case.
type entry struct {
	contender, at int
	paid          reward.Evaluation
	rank, near    float64
}

// same measures how far a written rubric agrees with the truth on the work itself.
func same(ctx context.Context, judge Evaluator, c *Case, w *rubric.Written) (rank, near float64, err error) {
	if w.Rubric == nil || len(w.Rubric.Validate()) > 0 {
		return 0, 0, nil
	}
	truth, err := judge.Evaluate(ctx, c.Truth, c.Workflow)
	if err != nil {
		return 0, 0, err
	}
	for _, total := range truth.Totals {
		if total == nil {
			return 0, 0, unusable(c, truth)
		}
	}
	written, err := judge.Evaluate(ctx, w.Rubric, c.Workflow)
	if err != nil {
		return 0, 0, err
	}
	rank, near = agreement(written, truth)
	return rank, near, nil
}

func sumUp(of Contender, k int, entries []entry, cases []*Case, reference []*float64, seed uint64) Payoff {
	p := Payoff{Name: of.Name, Kind: of.Kind, About: of.About, Metrics: map[string]*Estimate{}}
	var all []reward.Evaluation
	var paid, less []float64
	var truths, pairs []string
	metrics, metricsOf := map[string][]float64{}, map[string][]string{}
	for _, e := range entries {
		if e.contender != k {
			continue
		}
		all = append(all, e.paid)
		if e.paid.Outcome != reward.Scored {
			continue
		}
		truth, score := cases[e.at].Truth.Name, e.paid.Result.Score
		paid, truths = append(paid, score), append(truths, truth)
		n := float64(len(paid))
		p.Rank, p.Close = p.Rank+(e.rank-p.Rank)/n, p.Close+(e.near-p.Close)/n
		if r := reference[e.at]; r != nil {
			less, pairs = append(less, score-*r), append(pairs, truth)
		}
		for _, m := range e.paid.Result.Metrics {
			if m.IsScoreValid {
				metrics[m.Name], metricsOf[m.Name] = append(metrics[m.Name], m.Score), append(metricsOf[m.Name], truth)
			}
		}
	}
	p.Outcomes, p.Paid, p.Less = reward.Tally(all), estimate(paid, truths, seed), estimate(less, pairs, seed)
	p.Beats = p.Less != nil && p.Less.Value > 0
	for name := range metrics {
		p.Metrics[name] = estimate(metrics[name], metricsOf[name], seed)
	}
	return p
}
