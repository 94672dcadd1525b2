package study

import (
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/stats"
)

// Report says whether a reward goes with the quality of rubrics.
type Report struct {
	Rewards  []reward.Info `json:"rewards"`
	Split    string        `json:"split"`
	Seed     uint64        `json:"seed"`
	Episodes int           `json:"episodes"` // that were played
	Truths   int           `json:"truths"`   // that came at least twice
	Cases    int           `json:"cases"`    // of those truths
	Rubrics  int           `json:"rubrics"`  // that were paid: the rungs of all cases
	// Outcomes of paying for them. What has no score is in no figure.
	Outcomes []reward.Count `json:"outcomes"`
	// Rank holds the reward against how far rubrics agree with the truth in the
	// order of outputs, Close against how near their totals come, both on other
	// work than that which the reward saw.
	Rank  Relation `json:"rank_agreement"`
	Close Relation `json:"closeness"`
	Rungs []Line   `json:"rungs"`
	// Above is what the lower end of the intervals of Rank.Spearman and
	// Rank.Within must pass, and Follows whether both do.
	Above    float64 `json:"above"`
	Follows  bool    `json:"follows"`
	Sentence string  `json:"sentence"`
}

// Line is what became of one rung over all cases.
type Line struct {
	Name     string    `json:"name"`
	Scored   int       `json:"scored"`
	Unscored int       `json:"unscored"`
	Paid     *Estimate `json:"paid"` // nil if none has a score
	Rank     float64   `json:"rank_agreement"`
	Close    float64   `json:"closeness"`
}

// Summarise sums up observations. A report without any score is an error: it
// would say nothing of the reward.
func Summarise(observations []Observation, above float64, seed uint64) (*Report, error) {
	r := &Report{Seed: seed, Rubrics: len(observations), Above: above}
	truths, cases := map[string]bool{}, map[int]bool{}
	var paid []reward.Evaluation
	for _, o := range observations {
		truths[o.Truth], cases[o.Case] = true, true
		paid = append(paid, o.Paid)
	}
	r.Truths, r.Cases, r.Outcomes = len(truths), len(cases), reward.Tally(paid)
	if err := reward.CheckUnscored(paid, func(i int) string { return observations[i].Truth + ": " + observations[i].Rung }, 0.5); err != nil {
		return nil, err
	}
	if r.Truths < 2 {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, What: "all cases are of one stakeholder, and one gives no interval",
			Hint: "play more episodes, or add rubrics of stakeholders",
		}
	}
	r.Rank = relate(observations, func(o Observation) float64 { return o.Rank }, seed)
	r.Close = relate(observations, func(o Observation) float64 { return o.Close }, seed)
	r.Rungs = lines(observations, seed)
	r.judge()
	return r, nil
}

// judge decides whether the reward follows quality.
func (r *Report) judge() {
	if r.Rank.Spearman == nil || r.Rank.Within == nil {
		r.Sentence = "the reward pays the same for good rubrics and bad ones: nothing can be learnt from it"
		return
	}
	low := min(r.Rank.Spearman.Interval[0], r.Rank.Within.Interval[0])
	failed := r.failed()
	r.Follows = low > r.Above && failed == ""
	switch {
	case failed != "":
		r.Sentence = failed
	case r.Follows:
		r.Sentence = "the reward goes up with the quality of rubrics"
	case max(r.Rank.Spearman.Interval[1], r.Rank.Within.Interval[1]) < 0:
		r.Sentence = "the reward goes down where rubrics get better: a sign is wrong"
	case low > 0:
		r.Sentence = fmt.Sprintf("the reward goes up with the quality of rubrics, and not surely by more than %g", r.Above)
	default:
		r.Sentence = "the reward does not go with the quality of rubrics: what it pays for is something else"
	}
}

// failed says that the reward itself gives some rubrics no score, "" if it gives
// all of them one: an episode without a score costs nothing, so that writing such
// a rubric would be a way out of a bad one. What was away is nobody's.
func (r *Report) failed() string {
	n := 0
	for _, c := range r.Outcomes {
		switch c.Outcome {
		case reward.Scored, reward.Infrastructure, reward.Timeout:
		default:
			n += c.N
		}
	}
	i := slices.IndexFunc(r.Rungs, func(l Line) bool { return l.Unscored > 0 })
	if n == 0 || i < 0 {
		return ""
	}
	return fmt.Sprintf("the reward gives %d of %d rubrics no score, such as %q: who writes one loses nothing, so failing is a way out", n, r.Rubrics, r.Rungs[i].Name)
}

// Line is the report on one line.
func (r *Report) Line() string {
	if r.Rank.Spearman == nil || r.Rank.Within == nil {
		return r.Sentence
	}
	s, w := r.Rank.Spearman, r.Rank.Within
	return fmt.Sprintf("%s (Spearman %.2f [%.2f, %.2f], within a case %.2f [%.2f, %.2f]; %d rubrics for %d stakeholders)",
		r.Sentence, s.Value, s.Interval[0], s.Interval[1], w.Value, w.Interval[0], w.Interval[1], r.Rubrics, r.Truths)
}

// Err is nil for a reward that follows quality, and else a fault that says so.
func (r *Report) Err() error {
	if r.Follows {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Invalid, Where: "rewards", What: r.Sentence,
		Hint: "see which rubrics it pays too much for, and correct the terms or their weights before training",
	}
}

// lines sums up each rung, in order of first appearance.
func lines(observations []Observation, seed uint64) (out []Line) {
	at := map[string]int{}
	var paid [][]float64
	var truths [][]string
	for _, o := range observations {
		k, known := at[o.Rung]
		if !known {
			k = len(out)
			at[o.Rung] = k
			out, paid, truths = append(out, Line{Name: o.Rung}), append(paid, nil), append(truths, nil)
		}
		l := &out[k]
		n := float64(l.Scored + l.Unscored + 1)
		l.Rank, l.Close = l.Rank+(o.Rank-l.Rank)/n, l.Close+(o.Close-l.Close)/n
		if o.Paid.Outcome != reward.Scored {
			l.Unscored++
			continue
		}
		l.Scored++
		paid[k], truths[k] = append(paid[k], o.Paid.Result.Score), append(truths[k], o.Truth)
	}
	for k := range out {
		out[k].Paid = estimate(paid[k], truths[k], seed)
	}
	return out
}

// estimate is the mean of x with its interval, nil if x is empty.
func estimate(x []float64, truths []string, seed uint64) *Estimate {
	if len(x) == 0 {
		return nil
	}
	var e Estimate
	e.Value, e.Interval[0], e.Interval[1] = stats.ClusterBy(truths).Bootstrap(x, seed)
	return &e
}
