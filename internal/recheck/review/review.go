// Package review compares two sets of results, to show the effect of a changed reward: scores,
// outcomes, rewards of steps, and the advantages of group members.
package review

import (
	"cmp"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
)

// Review compares B with A. Numbers are compared bit for bit. Reasons and costs are counted
// but are not differences.
type Review struct {
	A        Side `json:"a"`
	B        Side `json:"b"`
	Compared int  `json:"compared"` // trajectories in both
	// OnlyA and OnlyB are the ids of trajectories that are in one side only.
	OnlyA []string `json:"only_a"`
	OnlyB []string `json:"only_b"`

	Outcomes []Outcome `json:"outcomes"` // changed outcomes, in the order of A
	Scores   []Score   `json:"scores"`   // changed scores, the largest change first
	Steps    []Step    `json:"steps"`    // changed base rewards, the largest change first
	Metrics  int       `json:"metrics"`  // trajectories whose metrics changed
	Reasons  int       `json:"reasons"`  // trajectories whose reason changed

	Advantages *Advantages `json:"advantages,omitempty"` // nil without groups
}

// Side summarizes one set of results.
type Side struct {
	Name         string   `json:"name"`
	Trajectories int      `json:"trajectories"`
	Scored       int      `json:"scored"`
	Mean         *float64 `json:"mean_score"` // null if nothing was scored
}

// Outcome is a trajectory with a different outcome.
type Outcome struct {
	ID      string         `json:"id"`
	A       reward.Outcome `json:"a"`
	B       reward.Outcome `json:"b"`
	ReasonA string         `json:"reason_a"`
	ReasonB string         `json:"reason_b"`
}

// Score is a trajectory with a different score.
type Score struct {
	ID string  `json:"id"`
	A  float64 `json:"a"`
	B  float64 `json:"b"`
}

// Step is a step output with a different base reward; null means none.
type Step struct {
	ID    string   `json:"id"`
	Index int      `json:"step_index"`
	A     *float64 `json:"a"`
	B     *float64 `json:"b"`
}

// Differs reports whether any number or outcome differs, or a trajectory is on one side only.
func (r *Review) Differs() bool {
	return len(r.OnlyA)+len(r.OnlyB)+len(r.Outcomes)+len(r.Scores)+len(r.Steps)+r.Metrics > 0 ||
		r.Advantages != nil && len(r.Advantages.Changed) > 0
}

// Compare compares b with a. Results with the same id are paired in their order.
func Compare(a, b []scoring.Result) *Review {
	r := &Review{A: side(a), B: side(b), OnlyA: []string{}, OnlyB: []string{}, Outcomes: []Outcome{}, Scores: []Score{}, Steps: []Step{}}
	waiting := map[string][]int{}
	for i := range b {
		waiting[b[i].ID] = append(waiting[b[i].ID], i)
	}
	paired := make([]bool, len(b))
	for i := range a {
		at := waiting[a[i].ID]
		if len(at) == 0 {
			r.OnlyA = append(r.OnlyA, a[i].ID)
			continue
		}
		waiting[a[i].ID], paired[at[0]] = at[1:], true
		r.add(&a[i], &b[at[0]])
	}
	for i := range b {
		if !paired[i] {
			r.OnlyB = append(r.OnlyB, b[i].ID)
		}
	}
	slices.SortStableFunc(r.Scores, func(x, y Score) int { return cmp.Compare(math.Abs(y.B-y.A), math.Abs(x.B-x.A)) })
	slices.SortStableFunc(r.Steps, func(x, y Step) int { return cmp.Compare(y.size(), x.size()) })
	return r
}

// size returns the size of the change; a missing reward counts as 0.
func (s Step) size() float64 { return math.Abs(value(s.B) - value(s.A)) }

func value(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

func side(all []scoring.Result) Side {
	s := scoring.Summarize(all)
	out := Side{Trajectories: s.Trajectories, Mean: s.Mean}
	for _, c := range s.Outcomes {
		if c.Outcome == reward.Scored {
			out.Scored = c.N
		}
	}
	return out
}

// add compares two results of one trajectory.
func (r *Review) add(a, b *scoring.Result) {
	r.Compared++
	if a.Reason != b.Reason {
		r.Reasons++
	}
	if a.Outcome != b.Outcome {
		r.Outcomes = append(r.Outcomes, Outcome{a.ID, a.Outcome, b.Outcome, a.Reason, b.Reason})
		return // without a score there is nothing else to compare
	}
	if a.Score != nil && b.Score != nil && !same(*a.Score, *b.Score) {
		r.Scores = append(r.Scores, Score{a.ID, *a.Score, *b.Score})
	}
	if !slices.EqualFunc(a.Metrics, b.Metrics, sameMetric) {
		r.Metrics++
	}
	r.steps(a, b)
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func sameMetric(a, b rl.Metric) bool {
	return a.Name == b.Name && same(a.Score, b.Score) && a.IsScoreValid == b.IsScoreValid
}

// steps compares step outputs by their index.
func (r *Review) steps(a, b *scoring.Result) {
	before := map[int]*float64{}
	for i := range a.StepOutputs {
		before[int(a.StepOutputs[i].StepIndex)] = &a.StepOutputs[i].BaseReward
	}
	for i := range b.StepOutputs {
		at, now := int(b.StepOutputs[i].StepIndex), &b.StepOutputs[i].BaseReward
		was := before[at]
		delete(before, at)
		if was == nil || !same(*was, *now) {
			r.Steps = append(r.Steps, Step{a.ID, at, was, now})
		}
	}
	for i := range a.StepOutputs { // in their order, not in map order
		at := int(a.StepOutputs[i].StepIndex)
		if was := before[at]; was != nil {
			r.Steps = append(r.Steps, Step{a.ID, at, was, nil})
			delete(before, at)
		}
	}
}
