// Package attack searches for replies to which a reward gives a high score that they do not deserve. The
// search only sees scores, and what else an evaluation shows; what is wrong is decided by the package doubt.
// The same seed finds the same, at any parallelism: rounds have a fixed number of evaluations, and time only
// decides after which round the search stops.
package attack

import (
	"context"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack/doubt"
	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/attack/mutate"
	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/attack/trial"
	"github.com/merit-rl/merit/internal/audit/tasks"
)

// Subject is a reward to attack.
type Subject struct {
	Pool *reward.Pool
	Rows []*rl.Trajectory
	// Source is the script or the module.
	Source []byte
	Script bool
	// Words are texts that the reward contains, and Place says where a place of its coverage is. Without
	// coverage they are nil.
	Words []string
	Place func(i int) (file string, line int, what string)
	// Samples are rows with replies of a model, to begin with.
	Samples []*rl.Trajectory
	// Reference is a stricter reward; nil if there is none.
	Reference *reward.Pool
	// Judge asks a model whether a reply is right; nil if there is none.
	Judge func(ctx context.Context, prompt []rl.Message, truth, reply string) (right bool, why string, err error)
}

// Options say how long to search.
type Options struct {
	Seed uint64
	// Rounds is the most rounds; 0 means without a limit.
	Rounds int
	// Quiet is after how many rounds without anything new the search ends.
	Quiet int
	// Over reports, after a round, that the time is over.
	Over func() bool
	// State keeps the search between rounds; nil keeps nothing.
	State *State
	// Tell is called after each round; it may be nil.
	Tell func(Progress)
}

// Progress is how far a search is.
type Progress struct {
	Round, Evaluations, Findings int
	// New is how many replies of the round did something new.
	New int
}

// Result is what a search found.
type Result struct {
	Info        reward.Info       `json:"reward"`
	Findings    []finding.Finding `json:"findings"`
	Rounds      int               `json:"rounds"`
	Evaluations int               `json:"evaluations"`
	Tasks       []string          `json:"tasks"` // the ids of the rows
	// Form means that no truth changes the score.
	Form bool `json:"form_only"`
	// Stopped says why the search ended.
	Stopped string `json:"stopped"`
}

// Why a search ended.
const (
	byRounds    = "all rounds were made"
	byTime      = "the time was over"
	byQuiet     = "nothing new was seen for many rounds"
	interrupted = "interrupted"
)

// Run attacks a reward. If ctx ends, it returns what was found until then together with the cause.
func Run(ctx context.Context, s Subject, o Options) (*Result, error) {
	t, err := trial.New(ctx, s.Pool, s.Rows)
	if err != nil {
		return nil, err
	}
	d := mutate.NewDictionary(s.Rows, answers(t), s.Source, s.Script, s.Words)
	a := &search{
		subject: s, target: t, words: d, options: o, seen: map[uint64]bool{}, tried: map[uint64]bool{}, minimized: map[string]int{}, kinds: map[string][]string{},
		doubts: &doubt.Doubter{Target: t, Words: d.LookedWords()},
		seeds:  mutate.Unique(append(d.Seeds(), sampled(s.Samples, s.Rows)...)),
	}
	if s.Reference != nil {
		if a.doubts.Reference, err = trial.New(ctx, s.Reference, s.Rows); err != nil {
			return nil, err
		}
	}
	if s.Judge != nil {
		a.doubts.Ask = func(ctx context.Context, c *trial.Case, x *trial.Trial) (bool, string, error) {
			return s.Judge(ctx, c.Prompted(), string(c.Truth), x.Said.Text)
		}
	}
	if o.State != nil {
		if err := a.restore(o.State); err != nil {
			return nil, err
		}
	}
	stopped, err := a.run(ctx)
	return &Result{
		Info: t.Info(), Findings: a.findings, Rounds: a.round, Evaluations: a.before + t.Evaluations, Tasks: ids(t), Form: t.Ignored, Stopped: stopped,
	}, err
}

func ids(t *trial.Target) (list []string) {
	for _, c := range t.Cases {
		list = append(list, c.Row.ID)
	}
	return list
}

// answers lists the right answers of the tasks.
func answers(t *trial.Target) []string {
	if len(t.Cases) == 0 {
		return nil
	}
	return t.Cases[0].World.All
}

// sampled makes seeds of replies that a model, or the data, gave.
func sampled(samples, rows []*rl.Trajectory) (all []mutate.Seed) {
	const most = 200
	for _, list := range [][]*rl.Trajectory{samples, rows} {
		for _, row := range list[:min(len(list), most)] {
			if text := tasks.Reply(row); text != "" {
				all = append(all, mutate.Seed{Kind: "a reply of the data", Reply: reply.Text(text)})
			}
		}
	}
	return all
}

// run makes rounds until one of the limits.
func (a *search) run(ctx context.Context) (stopped string, err error) {
	for {
		switch {
		case a.options.Rounds > 0 && a.round >= a.options.Rounds:
			return byRounds, nil
		case a.next >= len(a.seeds) && a.quiet >= a.options.Quiet:
			return byQuiet, nil
		case a.round > 0 && a.options.Over != nil && a.options.Over():
			return byTime, nil
		}
		fresh, err := a.makeRound(ctx)
		if err != nil {
			return interrupted, err
		}
		if a.options.Tell != nil {
			a.options.Tell(Progress{Round: a.round, Evaluations: a.before + a.target.Evaluations, Findings: len(a.findings), New: fresh})
		}
		if a.options.State != nil {
			if err := a.keep(a.options.State); err != nil {
				return interrupted, err
			}
		}
	}
}

// Wait returns an Over for a time that began at a moment.
func Wait(now func() time.Time, limit time.Duration) func() bool {
	began := now()
	return func() bool { return limit > 0 && now().Sub(began) >= limit }
}
