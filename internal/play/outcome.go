package play

import (
	"context"
	"errors"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/recheck/explain"
)

// Result is how an episode ended.
type Result struct {
	Score   *float64      `json:"score"` // nil without a score
	Success bool          `json:"success"`
	Steps   int           `json:"steps"`
	Stop    rl.StopReason `json:"stop_reason"`
	Error   string        `json:"error,omitempty"`
}

// Estimate is a mean with its 95 % interval.
type Estimate struct {
	Mean     float64      `json:"mean"`
	Interval run.Interval `json:"interval"`
}

// Change is the mean difference of two sets of continuations, in pairs with the same random
// numbers.
type Change struct {
	Estimate
	P float64 `json:"p"` // of a two-sided test: McNemar's for success, signed ranks for scores
}

// beyond reports whether chance does not explain d, one of n changes that were tested.
func (d *Change) beyond(n int) bool { return d != nil && d.P*float64(n) < 1-stats.Confidence }

// Branch is the continuations after one action at a step.
type Branch struct {
	// Action is what was taken at the step; it is empty if the policy chose.
	Action   string `json:"action"`
	Recorded bool   `json:"recorded,omitempty"` // it is the recorded action
	Unscored int    `json:"unscored"`           // continuations without a score
	// Success, Score and Steps are those of the continuations with a score; nil if none has one.
	Success *Estimate `json:"success"` // Wilson's interval
	Score   *Estimate `json:"score"`
	Steps   *Estimate `json:"steps"` // of the whole episode
	// SuccessChange and ScoreChange are the differences to the recorded action; nil for the
	// recorded action itself.
	SuccessChange *Change  `json:"success_change,omitempty"`
	ScoreChange   *Change  `json:"score_change,omitempty"`
	Results       []Result `json:"results"`
}

// Fork is a step at which several actions were tried.
type Fork struct {
	Episode       string   `json:"episode"`
	Step          int      `json:"step"`
	Continuations int      `json:"continuations"`
	Branches      []Branch `json:"branches"`     // the recorded action first
	Played        int      `json:"played_steps"` // by the continuations, unless they were known
}

// PolicyMoves is the action that leaves a step to the policy.
const PolicyMoves = "policy"

// Fork takes each action at a step, and lets the policy continue. Without actions, it tries all
// that are available there, and the policy itself.
func (g *Game) Fork(ctx context.Context, step int, actions []string) (*Fork, error) {
	seen := g.Seen[step].Available
	if len(actions) == 0 {
		actions = append(slices.Clone(seen), PolicyMoves)
	}
	recorded := Action(&g.Episode.Steps[step])
	if err := g.available(step, recorded, actions); err != nil {
		return nil, err
	}
	played := g.Played
	g.done = 0
	base, err := g.continued(ctx, step+1, nil)
	if err != nil {
		return nil, err
	}
	f := &Fork{Episode: g.Episode.ID, Step: step, Continuations: g.options.Continuations, Branches: []Branch{g.branch(step+1, recorded, base)}}
	f.Branches[0].Recorded = true
	for _, action := range actions {
		if action == recorded {
			continue
		}
		choice := &action
		if action == PolicyMoves && !slices.Contains(seen, action) {
			choice, action = nil, ""
		}
		results, err := g.continued(ctx, step, choice)
		if err != nil {
			return nil, err
		}
		b := g.branch(step, action, results)
		b.SuccessChange, b.ScoreChange = change(base, results, Success), change(base, results, Score)
		f.Branches = append(f.Branches, b)
	}
	f.Played = g.Played - played
	return f, nil
}

// available returns an error for each action that cannot be taken at a step, before anything is played.
func (g *Game) available(step int, recorded string, actions []string) error {
	var all []error
	for _, action := range actions {
		if action != recorded && action != PolicyMoves {
			_, err := g.move(step, action)
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// Action returns the action of a step as one word or line.
func Action(s *rl.Step) string { return explain.Action(s) }

// branch summarizes the continuations after an action, from step at on. An episode that has ended
// there leaves nothing uncertain.
func (g *Game) branch(at int, action string, all []Result) Branch {
	b := Branch{Action: action, Results: all}
	var scores, steps []float64
	won := 0
	for _, r := range all {
		if r.Score == nil {
			b.Unscored++
			continue
		}
		scores, steps = append(scores, *r.Score), append(steps, float64(r.Steps))
		if r.Success {
			won++
		}
	}
	if n := len(scores); n > 0 {
		low, high := stats.Wilson(won, n)
		b.Success = &Estimate{float64(won) / float64(n), run.Interval{low, high}}
		b.Score, b.Steps = mean(scores), mean(steps)
		if g.ended(at) {
			b.Success.Interval = run.Interval{b.Success.Mean, b.Success.Mean}
		}
	}
	return b
}

// draws is the seed of all resampling, so that results depend on the episodes alone.
const draws = 1

func mean(x []float64) *Estimate {
	m, low, high := stats.Bootstrap(x, draws)
	return &Estimate{m, run.Interval{low, high}}
}

// measures are what changes are about, by name.
var measures = map[string]func(Result) float64{
	Success: func(r Result) float64 {
		if r.Success {
			return 1
		}
		return 0
	},
	Score: func(r Result) float64 { return *r.Score },
}

// The measures.
const (
	Success = "success"
	Score   = "score"
)

// change returns by how much a measure differs between two sets of continuations, over the
// pairs in which both have a score, or nil if there is none.
func change(before, after []Result, measure string) *Change {
	var difference []float64
	var b, a []bool
	what := measures[measure]
	for i := range before {
		if before[i].Score != nil && after[i].Score != nil {
			difference = append(difference, what(after[i])-what(before[i]))
			b, a = append(b, before[i].Success), append(a, after[i].Success)
		}
	}
	if difference == nil {
		return nil
	}
	d := &Change{Estimate: *mean(difference), P: stats.McNemar(b, a)}
	if measure == Score {
		d.P = stats.SignedRank(difference)
	}
	return d
}

// Measure is what the actions are compared by: success, or score if no continuation succeeded.
func (f *Fork) Measure() string {
	for _, b := range f.Branches {
		if b.Success != nil && b.Success.Mean > 0 {
			return Success
		}
	}
	return Score
}

// Best returns the branch that is better than the recorded action by the most, and that with
// the largest loss; each is nil if chance explains the difference.
func (f *Fork) Best() (better, worse *Branch) {
	best, worst := 0.0, 0.0
	for i := range f.Branches {
		b := &f.Branches[i]
		d := b.SuccessChange
		if f.Measure() == Score {
			d = b.ScoreChange
		}
		switch n := len(f.Branches) - 1; {
		case !d.beyond(n):
		case d.Mean > best:
			better, best = b, d.Mean
		case d.Mean < worst:
			worse, worst = b, d.Mean
		}
	}
	return better, worse
}

// results returns how episodes ended.
func (g *Game) results(all []*rl.Trajectory) []Result {
	cfg := g.options.Session.Config
	m := train.Measurement{Align: cfg.Align, Train: cfg.Train}
	for _, t := range all {
		m.Add(t)
	}
	_, played := m.Score()
	results := make([]Result, len(all))
	for i, t := range all {
		r := Result{Success: played[i].Success, Steps: len(t.Steps), Stop: t.StopReason, Error: t.Error}
		if played[i].Scored {
			total, _ := cfg.Align.Totals(t)
			r.Score = &total
		}
		results[i] = r
	}
	return results
}
