// Package rubricstudy finds out whether the dual reward of a configuration can
// be trusted: it plays a few episodes of the environment, for the stakeholders
// and the outputs of workers in them, and has the reward pay for rubrics whose
// quality is known, and for cheats. Who plays does not matter: what was written
// is replaced.
package rubricstudy

import (
	"context"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/internal/rubric/study"
	"github.com/merit-rl/merit/sdk/merit"
)

// DefaultEpisodes are enough for each of a dozen stakeholders to come several
// times.
const DefaultEpisodes = rubrics.DefaultCheck

// DefaultAbove is what the lower ends of the intervals of a check's correlations
// must pass.
const DefaultAbove = 0.5

// Options say what a check looks at.
type Options struct {
	// Split is whose stakeholders there are: train, validation or test.
	Split string
	// Episodes are played; a stakeholder counts who comes in two of them or more,
	// with the first PerTruth.
	Episodes int
	// Above is what the reward must pass; see study.Report.
	Above float64
	// Progress, if set, is told how far it is, in episodes and then in rubrics.
	Progress func(what string, done, of int)
}

// PerTruth is how many cases of one stakeholder a check pays for: more say
// little about the reward, for they are not independent.
const PerTruth = 3

// What a progress is told.
const (
	Playing = "episodes"
	Paying  = "rubrics"
)

// Check finds out whether the rewards of s follow the quality of rubrics. The
// report is a function of the configuration and the options; that the reward
// does not follow is no error, but Report.Err.
func Check(ctx context.Context, s *merit.Session, o Options) (*study.Report, error) {
	dual, err := Dual(s)
	if err != nil {
		return nil, err
	}
	cases, err := collect(ctx, s, o.Split, o.Episodes, o.Progress)
	if err != nil {
		return nil, err
	}
	found, err := study.Measure(ctx, reward.NewPool(s.Parts, s.Config.Rollout.Parallel), dual.Engine(), few(cases), rl.Seed(s.Config.Seed), paying(o.Progress))
	if err != nil {
		return nil, err
	}
	r, err := study.Summarise(found, o.Above, s.Config.Seed)
	if err != nil {
		return nil, err
	}
	r.Split, r.Episodes = o.Split, o.Episodes
	for _, p := range s.Parts {
		r.Rewards = append(r.Rewards, p.Scorer.Info())
	}
	return r, nil
}

// Dual returns the part of the rewards of s that evaluates by two rubrics.
func Dual(s *merit.Session) (*rubric.Scorer, error) {
	for _, p := range s.Parts {
		if dual, ok := p.Scorer.(*rubric.Scorer); ok {
			return dual, nil
		}
	}
	return nil, s.Config.Places.Explain("", &fault.Error{
		Boundary: fault.Config, Kind: fault.Missing, Where: "rewards", What: "no reward holds a written rubric against a stakeholder's",
		Hint: "give one a rubric section: rewards: [{module: reward.py, rubric: {}}]",
	})
}

// few keeps the first cases of each truth.
func few(cases []*study.Case) (kept []*study.Case) {
	n := map[string]int{}
	for _, c := range cases {
		if n[c.Truth.Name]++; n[c.Truth.Name] <= PerTruth {
			kept = append(kept, c)
		}
	}
	return kept
}

func paying(progress func(string, int, int)) func(done, of int) {
	if progress == nil {
		return nil
	}
	return func(done, of int) { progress(Paying, done, of) }
}
