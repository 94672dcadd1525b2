package train

import (
	"context"
	"log/slog"
	"time"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
)

// Player plays plans with the policy of a run and has what was played scored:
// in this process, or by a fleet of workers. What it returns is a function of
// the plan, the policy's weights, the environment and the rewards.
type Player interface {
	// Play plays a plan, whose Groups and Members may be 0 as in rollout.Plan.
	// OnProgress, which may be nil, is told how far it is; calls are serialised.
	Play(ctx context.Context, plan rollout.Plan, onProgress func(rollout.Progress)) (*Played, error)
	// Close ends what plays.
	Close() error
}

// Played is what became of a plan.
type Played struct {
	credit.Scored
	rollout.Stats
	Scoring time.Duration // of the wall clock, where it is not part of playing; for reports only
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
	return scored(ctx, p.scoring, groups, stats)
}

// scored asks the rewards about what was played.
func scored(ctx context.Context, p *credit.Pipeline, groups []*rl.Group, stats rollout.Stats) (*Played, error) {
	began := time.Now()
	all, err := p.Score(ctx, groups)
	if err != nil {
		return nil, err
	}
	return &Played{all, stats, time.Since(began)}, nil
}

// Close implements Player.
func (p local) Close() error { return p.collector.Close() }
