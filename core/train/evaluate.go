package train

import (
	"context"
	"strings"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
)

// evaluation is the result of one policy on one set of starts.
type evaluation struct {
	score        run.Score
	episodes     []episode
	starts       []string // without duplicates
	trajectories []*rl.Trajectory
	estimate     *estimate // from the episodes that others played; nil if the policy played
}

// starts is what an evaluation plays: n starts, one episode each. They and the
// randomness of decisions are a function of seed, so two policies play the same
// starts.
type starts struct {
	what             string
	seed             rl.Seed
	n                int
	greedy, baseline bool
}

// evaluate lets p play the starts of s and adds what that used to spent. It returns
// nil if p plays recordings on which the policy cannot be measured, and then sets
// l.refused if that is because they say too little about it. To choose among
// checkpoints, validation also takes an estimate that says little.
func (l *loop) evaluate(ctx context.Context, p Player, s starts, spent *run.Spent) (*evaluation, error) {
	plan := rollout.Plan{Seed: s.seed, Groups: s.n, Members: 1, Prefix: fileName(s.what) + "-", Greedy: s.greedy, Baseline: s.baseline}
	played, err := l.play(ctx, p, plan, s.what, spent, spent)
	if err != nil || played == nil {
		return nil, err
	}
	batch, err := l.scoring.Assign(played.Scored)
	if err != nil {
		return nil, err
	}
	l.logEpisodes(ctx, s.what, batch)
	e := &evaluation{starts: startsOf(played.Groups), episodes: episodes(batch, l.s.Train), trajectories: batch.Trajectories}
	if played.Weights != nil {
		e.estimated(played.Weights)
		if l.refused = e.few(played.Least); l.refused != "" && s.what != SplitValidation {
			l.deps.Log.WarnContext(ctx, "the policy is not measured", "of", s.what, "why", l.refused)
			return nil, nil
		}
	} else {
		e.score = score(e.episodes)
	}
	l.deps.Progress.Evaluated(s.what, e.score)
	return e, nil
}

// fileName returns the name of an evaluation in files.
func fileName(what string) string { return strings.ReplaceAll(what, " ", "-") }

// validate measures the policy on held-out starts, the same ones each time,
// and decides whether it is the best so far and whether the run is over.
func (l *loop) validate(ctx context.Context, it *iteration) error {
	s := starts{what: SplitValidation, seed: l.seed.Child(credit.SeedValidation), n: l.s.Train.ValidationEpisodes}
	measure := l.evaluate
	if l.compares(l.validator) {
		measure = func(ctx context.Context, _ Player, s starts, spent *run.Spent) (*evaluation, error) {
			return l.compared(ctx, it, s, spent)
		}
	}
	e, err := measure(ctx, l.validator, s, &it.line.Cost.Validate)
	if err != nil {
		return err
	}
	if e == nil { // without a measurement, the newest policy counts as the best
		it.line.Best, it.cursor.Best = true, run.Standing{Iteration: it.cursor.Iteration}
		return nil
	}
	score := e.score // a pointer into e would keep its trajectories
	it.line.Validation = &score
	if it.line.Iteration == 0 { // every later validation plays the same starts
		it.starts = run.EpisodeStarts{Split: SplitValidation, Starts: e.starts}
	}
	it.line.Best = it.best(l.s.Train, score)
	if c := &it.cursor; c.Iteration > 0 && c.Stop == "" && len(l.history) > 0 && l.history[0].Validation != nil {
		c.Stop = l.s.Train.reason(*l.history[0].Validation, score, *c)
	}
	return nil
}

// exhausted returns which budget of c is used up at a cursor, or "".
func (c Config) exhausted(at run.Cursor) run.StopReason {
	switch {
	case at.Iteration >= c.Iterations:
		return run.StopIterations
	case c.EnvSteps > 0 && at.EnvSteps >= uint64(c.EnvSteps):
		return run.StopSteps
	}
	return ""
}

// best counts validations for early stopping and reports whether s is the best
// validation so far. A validation without a score is the best only if there is no
// other.
func (it *iteration) best(t Config, s run.Score) bool {
	c := &it.cursor
	better := c.Iteration == 0 || s.Episodes > 0 && less(c.Best, s)
	c.Unimproved++
	if better {
		c.Best = standing(c.Iteration, s)
		c.Unimproved = 0
	}
	switch {
	case c.Iteration == 0: // an untrained policy does not stop the run
	case t.TargetSuccess > 0 && s.Success >= t.TargetSuccess:
		c.Stop = run.StopTarget
	case t.Patience > 0 && c.Unimproved >= t.Patience:
		c.Stop = run.StopPlateau
	}
	return better
}

// standing returns the standing of a validation.
func standing(iteration int, s run.Score) run.Standing {
	st := run.Standing{Iteration: iteration, Success: s.Success, Return: s.Return}
	if s.Wins != nil {
		st.WinRate = s.Wins.Rate
	}
	return st
}

// less reports whether s is better than b: a higher win rate, if the reward compares, or
// else a higher success; at equal ones a higher return.
func less(b run.Standing, s run.Score) bool {
	x, y := b.Success, s.Success
	if s.Wins != nil {
		x, y = b.WinRate, s.Wins.Rate
	}
	return y > x || y == x && s.Return > b.Return
}

// Measurement summarizes trajectories as an evaluation of a run does. They must
// be scored: with credit, or as the tests of a run store them. Add them one by
// one.
type Measurement struct {
	Align align.Config // of the run
	Train Config       // its SuccessScore and Cluster

	all []episode
}

// Add adds a trajectory and does not keep a reference to it.
func (m *Measurement) Add(t *rl.Trajectory) {
	e := episode{start: startOf(t), cluster: m.Train.Cluster.of(t), length: len(t.Steps), won: t.Won, metrics: t.Measured()}
	if t.Outcome == string(reward.Scored) && t.Evaluation != nil {
		e.scored = true
		var score float64
		score, e.sum = m.Align.Totals(t)
		e.success = t.StopReason == rl.StopTerminated && score > m.Train.SuccessScore
	}
	m.all = append(m.all, e.within(t))
}

// Compare tests whether the policies of two measurements that played the same
// starts in the same order succeed equally often, as the summary of a run does,
// and returns the p-value with the name of the test.
func (m *Measurement) Compare(after *Measurement) (test string, p float64) {
	if len(m.all) != len(after.all) {
		return "", 0
	}
	return compare(m.all, after.all)
}

// Starts returns how many of the played starts are new to the run in dir, which
// has the given number of lines of metrics.
func (m *Measurement) Starts(dir string, lines int) (run.Starts, error) {
	return overlap(dir, m.all, lines)
}

// Score returns the score so far, and the result of each episode.
func (m *Measurement) Score() (run.Score, []run.Played) {
	played := make([]run.Played, len(m.all))
	for i, e := range m.all {
		played[i] = run.Played{Start: e.start, Cluster: e.cluster, Scored: e.scored, Success: e.success, Return: e.sum, Length: e.length, Won: e.won, Metrics: e.metrics}
	}
	return score(m.all), played
}
