package train

import (
	"context"
	"log/slog"
	"time"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
)

// Player plays plans with the policy of a run and has what was played scored:
// in this process, by a fleet of workers, or from recordings. What it returns is a
// function of the plan, the policy's weights, the environment and the rewards.
type Player interface {
	// Play plays a plan, whose Groups and Members may be 0 as in rollout.Plan.
	// OnProgress, which may be nil, is told how far it is; calls are serialized. It
	// returns nil if it plays recordings by which the policy cannot be measured.
	Play(ctx context.Context, plan rollout.Plan, onProgress func(rollout.Progress)) (*Played, error)
	// Close ends what plays.
	Close() error
}

// Recorded is a Player of the train split that gives what others have played
// before the run: traces.
type Recorded interface {
	Player
	// Index lists what there is, for the run directory.
	Index() []run.TraceLine
	// Experience is b corrected for who decided.
	Experience(ctx context.Context, p policy.Policy, b *credit.Batch) (*policy.Experience, *run.OffPolicy, error)
}

// Played is what became of a plan.
type Played struct {
	credit.Scored
	rollout.Stats
	Scoring time.Duration // of the wall clock, where it is not part of playing; for reports only
	// Weights say of recordings, by trajectory, how much likelier the policy makes
	// their decisions than who made them did; nil where the policy itself played.
	Weights []float64
}

// OpenPlayer opens a Player of a split. The policy is the run's own: what Play
// plays with is what acts at that moment.
type OpenPlayer func(ctx context.Context, split string, p policy.Learner) (Player, error)

// local plays and scores in this process.
type local struct {
	collector *rollout.Collector
	scoring   *credit.Pipeline
}

// LocalPlayer returns a Player of this process: p plays in the environments that
// open starts, and scoring scores. Log may be nil. Close ends the environments.
func LocalPlayer(cfg rollout.Config, open rollout.Open, p policy.Policy, scoring *credit.Pipeline, log *slog.Logger) (Player, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	collector, err := rollout.New(cfg, open, p, rollout.WithLogger(log))
	if err != nil {
		return nil, err
	}
	return local{collector, scoring}, nil
}

// Play implements Player.
func (p local) Play(ctx context.Context, plan rollout.Plan, onProgress func(rollout.Progress)) (*Played, error) {
	groups, stats, err := p.collector.Collect(ctx, plan, onProgress)
	if err != nil {
		return nil, err
	}
	return ScorePlayed(ctx, p.scoring, groups, stats)
}

// ScorePlayed asks the rewards about what was played.
func ScorePlayed(ctx context.Context, p *credit.Pipeline, groups []*rl.Group, stats rollout.Stats) (*Played, error) {
	began := time.Now()
	all, err := p.Score(ctx, groups)
	if err != nil {
		return nil, err
	}
	return &Played{Scored: all, Stats: stats, Scoring: time.Since(began)}, nil
}

// Close implements Player.
func (p local) Close() error { return p.collector.Close() }
